//! Data of every kind that JSON has, as text in the one form that both sides write.

/// The data of the nth message. Numbers stand as Python prints them, so equal values are equal texts.
pub(crate) fn data(n: usize) -> String {
    const FLOATS: [&str; 8] = [
        "0.1",
        "117.63331139400017",
        "1e+22",
        "-2.5e-07",
        "5e-324",
        "1.7976931348623157e+308",
        "2.0",
        "-0.0",
    ];
    const TEXTS: [&str; 6] = [
        "Größe/Maß ☂",
        r#"tab\tquote\"backslash\\nul\u0000"#,
        "שלום ‏RTL",
        "😀 e\u{301} \u{2028}",
        "</script>&amp;",
        "",
    ];
    let big = format!(
        "{}{:020}",
        if n.is_multiple_of(2) {
            "-98765432109876543210"
        } else {
            "18446744073709551616"
        },
        n
    );
    let float = FLOATS[n % FLOATS.len()];
    let text = TEXTS[n % TEXTS.len()];
    let deep = n % 7;
    format!(
        r#"{{"n":{n},"big":{big},"beyond":9007199254740993,"float":{float},"text":"{text}","ключ":[true,false,null,{{}},[]],"deep":{open}"x"{close},"empty":{{"list":[],"map":{{}}}}}}"#,
        open = "[{\"a\":".repeat(deep),
        close = "}]".repeat(deep),
    )
}

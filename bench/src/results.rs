//! `RESULTS.md`: a part for each program, under a heading of the first level.

use std::fs;

use crate::Result;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");

/// Writes the part with this heading, in the place of the one that was there.
///
/// # Errors
///
/// The file cannot be read or written.
pub fn put(heading: &str, text: &str) -> Result<()> {
    Ok(fs::write(
        FILE,
        replaced(&fs::read_to_string(FILE)?, heading, text),
    )?)
}

fn replaced(file: &str, heading: &str, text: &str) -> String {
    let new = format!("# {heading}\n\n{}\n", text.trim_end());
    let mut parts: Vec<String> = format!("\n{file}")
        .split("\n# ")
        .skip(1)
        .map(|part| format!("# {}\n", part.trim_end()))
        .collect();
    let first_line = format!("# {heading}\n");
    match parts.iter_mut().find(|part| part.starts_with(&first_line)) {
        Some(part) => *part = new,
        None => parts.push(new),
    }
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_takes_the_place_of_its_older_self() {
        let file = "# A\n\nold\n\n## of A\n\n# B\n\nb\n";
        assert_eq!(replaced(file, "A", "new\n"), "# A\n\nnew\n\n# B\n\nb\n");
    }

    #[test]
    fn a_new_part_comes_last() {
        assert_eq!(replaced("# A\n\na\n", "B", "b"), "# A\n\na\n\n# B\n\nb\n");
    }
}

use super::*;

fn conf(text: &str) -> Result<Settings, Error> {
    Settings::from_conf_text("client.conf", text)
}

/// What the file that Pulsar ships says, shortened.
const SHIPPED: &str = "
# Configuration for pulsar-client and pulsar-admin CLI tools
webServiceUrl=http://localhost:8080/
brokerServiceUrl=pulsar://localhost:6650/
authPlugin=
authParams=
tlsAllowInsecureConnection=false
tlsEnableHostnameVerification=false
tlsTrustCertsFilePath=
useKeyStoreTls=false
tlsTrustStoreType=JKS
proxyServiceUrl=
";

#[test]
fn the_file_that_pulsar_ships_can_be_read() {
    let settings = conf(SHIPPED).unwrap();
    assert_eq!(settings.service_url(), Some("pulsar://localhost:6650/"));
    assert_eq!(settings.verification, Some(Verification::WithoutHostName));
    assert!(settings.authentication.is_none());
    assert!(settings.authorities.is_none());
    let checked = Settings::new().check_certificates().or(settings);
    assert_eq!(checked.verification, Some(Verification::Full));
}

#[test]
fn every_spelling_of_authentication_is_understood() {
    let json_key = "eyJjbGllbnRfaWQiOiJhIn0="; // {"client_id":"a"}
    for (plugin, params, shown) in [
        ("org.apache.pulsar.client.impl.auth.AuthenticationToken", "token:s3cret".to_owned(), "token(***)"),
        ("org.apache.pulsar.client.impl.auth.AuthenticationToken", "s3cret".to_owned(), "token(***)"),
        ("org.apache.pulsar.client.impl.auth.AuthenticationToken", "file:///run/t".to_owned(), "/run/t"),
        ("token", r#"{"token":"s3cret"}"#.to_owned(), "token(***)"),
        (
            "org.apache.pulsar.client.impl.auth.AuthenticationBasic",
            r#"{"userId":"app","password":"s3cret"}"#.to_owned(),
            "app",
        ),
        (
            "org.apache.pulsar.client.impl.auth.oauth2.AuthenticationOAuth2",
            r#"{"type":"client_credentials","privateKey":"file:///k.json","issuerUrl":"https://i","audience":"pulsar","scope":"x"}"#.to_owned(),
            "/k.json",
        ),
        (
            "oauth2",
            format!(r#"{{"privateKey":"data:application/json;base64,{json_key}","issuerUrl":"https://i"}}"#),
            "https://i",
        ),
        (
            "org.apache.pulsar.client.impl.auth.AuthenticationTls",
            "tlsCertFile:/c.pem,tlsKeyFile:/k.pem".to_owned(),
            "/k.pem",
        ),
        ("tls", r#"{"tlsCertFile":"/c.pem","tlsKeyFile":"/k.pem"}"#.to_owned(), "/c.pem"),
    ] {
        let settings = conf(&format!("authPlugin={plugin}\nauthParams={params}\n")).unwrap();
        let text = format!("{settings:?}");
        assert!(text.contains(shown), "{text}");
        assert!(!text.contains("s3cret") && !text.contains(json_key), "{text}");
    }
}

#[test]
fn wrong_values_are_named_with_their_line_and_all_at_once() {
    let text = "brokerServiceUrl=kafka://h\n# note\ntlsAllowInsecureConnection=perhaps\n\
        tlsKeyFilePath=/k\nauthPlugin=Kerberos\nuseKeyStoreTls=true\nproxyServiceUrl=pulsar+ssl://p";
    let error = conf(text).unwrap_err().to_string();
    for named in [
        "client.conf:1: brokerServiceUrl",
        "client.conf:3: tlsAllowInsecureConnection is \"perhaps\"",
        "client.conf:4: tlsKeyFilePath is given without",
        "client.conf:5: authPlugin is \"Kerberos\"",
        "client.conf:6: useKeyStoreTls",
        "client.conf:7: proxyServiceUrl",
    ] {
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn wrong_parameters_are_named_without_their_secrets() {
    for (plugin, params, named) in [
        ("AuthenticationToken", "", "lacks a token"),
        ("AuthenticationToken", r#"{"tok":"s3cret"}"#, "lacks token"),
        ("AuthenticationBasic", "s3cret", "is not a JSON object"),
        (
            "AuthenticationBasic",
            r#"{"userId":"a","password":["s3cret"]}"#,
            "a password that is no text",
        ),
        ("AuthenticationTls", "tlsCertFile:/c", "lacks tlsKeyFile"),
        (
            "AuthenticationOAuth2",
            r#"{"type":"s3cret"#,
            "is not a JSON object",
        ),
        (
            "AuthenticationOAuth2",
            r#"{"privateKey":"data:text/plain,s3cret"}"#,
            "privateKey",
        ),
    ] {
        let error = conf(&format!("\nauthPlugin={plugin}\nauthParams={params}")).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(named) && text.starts_with("client.conf:"), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
}

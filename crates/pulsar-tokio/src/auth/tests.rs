use super::*;

const PATIENCE: Duration = Duration::from_millis(200);

async fn credentials(authentication: &Authentication) -> Result<Option<Credentials>, Error> {
    let authenticator = Authenticator::new(Some(authentication), true, None, PATIENCE).unwrap();
    authenticator.credentials().await
}

#[tokio::test]
async fn methods_have_the_names_that_brokers_know() {
    for (authentication, method, data) in [
        (Authentication::token("s3cret"), "token", "s3cret"),
        (Authentication::basic("app", "s3cret"), "basic", "app:s3cret"),
    ] {
        let credentials = credentials(&authentication).await.unwrap().unwrap();
        assert_eq!(credentials.method, method);
        assert_eq!(credentials.data.reveal(), data);
    }
    let by_certificate = Authenticator::new(None, true, None, PATIENCE).unwrap();
    let credentials = by_certificate.credentials().await.unwrap().unwrap();
    assert_eq!(credentials.method, "tls");
}

#[tokio::test]
async fn none_means_none_also_with_a_certificate() {
    assert_eq!(credentials(&Authentication::none()).await.unwrap(), None);
}

#[tokio::test]
async fn a_file_is_read_for_each_use_and_named_when_it_is_missing() {
    let path = std::env::temp_dir().join(format!("pulsar-tokio-token-{}", std::process::id()));
    let authentication = Authentication::token_file(&path);
    for token in ["first", "second"] {
        std::fs::write(&path, format!("{token}\n")).unwrap();
        let credentials = credentials(&authentication).await.unwrap().unwrap();
        assert_eq!(credentials.data.reveal(), token);
    }
    std::fs::remove_file(&path).unwrap();
    let error = credentials(&authentication).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credentials);
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}

#[tokio::test]
async fn a_function_that_hangs_is_given_up() {
    let hangs = Authentication::token_from(std::future::pending);
    let error = credentials(&hangs).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credentials);
    assert!(error.to_string().contains("function for tokens"), "{error}");
}

#[tokio::test]
async fn a_function_that_fails_is_named_with_its_reason_behind() {
    let fails = Authentication::token_from(|| async { Err("the vault is sealed".into()) });
    let error = credentials(&fails).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credentials);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "the vault is sealed");
}

#[test]
fn debug_texts_have_no_secrets() {
    let ways = [
        Authentication::token("s3cret"),
        Authentication::basic("app", "s3cret"),
        Authentication::oauth2(OAuth2::client("https://issuer", "app", "s3cret")),
        Authentication::oauth2(OAuth2::key(Secret::new(r#"{"client_secret":"s3cret"}"#))),
    ];
    for way in ways {
        let authenticator = Authenticator::new(Some(&way), false, None, PATIENCE).unwrap();
        for text in [
            format!("{way:?}"),
            format!("{authenticator:?}"),
            authenticator.place(),
        ] {
            assert!(!text.contains("s3cret"), "{text}");
        }
    }
}

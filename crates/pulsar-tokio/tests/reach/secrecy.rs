//! Nothing that is secret shows in what is logged or printed, whatever happens.

use std::fmt::Debug;
use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use pulsar_testing::certificates::Authority;
use pulsar_tokio::{
    Authentication, Client, ErrorKind, NewMessage, OAuth2, Pem, Secret, ServerError, Settings,
};
use pulsar_wire::proto::CommandError;
use tracing_subscriber::fmt::MakeWriter;

use crate::certificates::{Clients, server_with, trust};
use crate::issuer::{Issuer, Manner};
use crate::scripted::{Scripted, challenge, connect, response};
use crate::support::within;

const TOKEN: &str = "token-s3cret";
const PASSWORD: &str = "password-s3cret";
const CLIENT_SECRET: &str = "client-s3cret";
const FRESH: &str = "fresh-s3cret";
/// Every secret of these tests has this in it, and nothing else does.
const MARK: &str = "s3cret";

/// All that is logged and printed.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<u8>>>);

impl Seen {
    /// Everything that this program logs from now on. Of all its tests: what is on for one thread alone
    /// gets lost when another asks first whether it is wanted.
    pub(crate) fn logging() -> Self {
        static SEEN: LazyLock<Seen> = LazyLock::new(|| {
            let seen = Seen::default();
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_writer(seen.clone())
                .finish();
            tracing::subscriber::set_global_default(subscriber).expect("the only one");
            seen
        });
        SEEN.clone()
    }

    pub(crate) fn print(&self, value: &impl Debug) {
        self.write_text(&format!("{value:?} {value:#?}\n"));
    }

    pub(crate) fn error(&self, error: &pulsar_tokio::Error) {
        self.print(error);
        let mut cause: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = cause {
            self.write_text(&format!("{error}\n"));
            cause = error.source();
        }
    }

    fn write_text(&self, text: &str) {
        self.0
            .lock()
            .expect("no panic")
            .extend_from_slice(text.as_bytes());
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic")).into_owned()
    }
}

impl Write for Seen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Seen {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// A broker that repeats what it was shown, and refuses it.
async fn parrot() -> Scripted {
    Scripted::with_script(|command| {
        let shown = connect(command)?.auth_data.unwrap_or_default();
        let error = CommandError {
            request_id: u64::MAX,
            error: ServerError::AuthenticationError.into(),
            message: format!("cannot take {}", String::from_utf8_lossy(&shown)),
        };
        Some(vec![error.into()])
    })
    .await
}

async fn refused(seen: &Seen, authentication: Authentication, broker: &Scripted) -> ErrorKind {
    let settings = Settings::new().url(broker.url()).authentication(authentication);
    seen.print(&settings);
    let builder = Client::with_settings(settings);
    seen.print(&builder);
    let client = builder.build().expect("a client");
    seen.print(&client);
    let error = within("a refusal", client.producer("orders").open())
        .await
        .expect_err("a refusal");
    seen.error(&error);
    error.kind()
}

#[tokio::test]
async fn no_secret_shows_in_logs_errors_or_debug_texts() {
    let seen = Seen::logging();

    let broker = parrot().await;
    for authentication in [
        Authentication::token(TOKEN),
        Authentication::basic("app", PASSWORD),
        Authentication::token_from(|| async { Ok(Secret::new(FRESH)) }),
    ] {
        let kind = refused(&seen, authentication, &broker).await;
        assert_eq!(kind, ErrorKind::Refused(ServerError::AuthenticationError));
    }

    // This issuer repeats the secret too.
    let issuer = Issuer::plain(Manner::default()).await;
    let oauth2 = OAuth2::client(issuer.url(), "app", CLIENT_SECRET);
    let kind = refused(&seen, Authentication::oauth2(oauth2), &broker).await;
    assert_eq!(kind, ErrorKind::Credentials);

    // In the service URL, where no secret belongs.
    let builder = Client::builder(&format!("pulsar://app:{PASSWORD}@h"));
    seen.print(&builder);
    seen.error(&builder.build().unwrap_err());

    // A connection that goes on with fresh credentials, and is cut.
    let broker = Scripted::plain().await;
    let client = Client::builder(broker.url()).token(TOKEN).build().unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    broker.say(challenge());
    broker.wait(1, response).await;
    broker.say(CommandError {
        request_id: u64::MAX,
        error: ServerError::AuthenticationError.into(),
        message: format!("expired: {TOKEN}"),
    });
    within("the reason", async {
        while producer.last_error().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    seen.error(&producer.last_error().unwrap());
    within("a receipt", producer.send(NewMessage::new("hello")))
        .await
        .unwrap();
    seen.print(&client);

    // Keys, in memory and in what cannot be read.
    let authority = Authority::new("ours");
    let issued = authority.issue("broker", &["127.0.0.1"]);
    let tls = Scripted::with_tls(server_with(&issued, Clients::IssuedBy(&authority))).await;
    let settings = Settings::new()
        .url(tls.url())
        .trusted_authorities(trust(&authority))
        .client_certificate(
            Pem::bytes(issued.chain.clone()),
            Pem::bytes(format!("{MARK}\n{}", issued.key)),
        );
    seen.print(&settings);
    let client = Client::with_settings(settings.clone()).build().unwrap();
    within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    let damaged = Pem::bytes(format!(
        "-----BEGIN PRIVATE KEY-----\n{MARK}!\n-----END PRIVATE KEY-----"
    ));
    let settings = settings.client_certificate(Pem::bytes(issued.chain.clone()), damaged);
    let client = Client::with_settings(settings).build().unwrap();
    seen.error(&client.producer("orders").open().await.unwrap_err());

    let text = seen.text();
    assert!(
        text.contains("DEBUG") || text.contains("TRACE"),
        "the log was kept:\n{text}"
    );
    let key = issued.key.lines().nth(1).unwrap();
    for line in text.lines() {
        assert!(!line.contains(MARK) && !line.contains(key), "{line}");
    }
}

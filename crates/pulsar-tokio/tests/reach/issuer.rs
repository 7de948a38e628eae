//! An OAuth2 issuer: the two addresses that a client asks, over HTTP or HTTPS.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pulsar_testing::secure::IssuerKey;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// How an issuer answers.
#[derive(Clone)]
pub(crate) struct Manner {
    /// How long its tokens are good, in seconds as it writes them.
    pub(crate) expires_in: &'static str,
    pub(crate) delay: Duration,
    /// With a key the tokens are real ones for the role `admin`, good for `SHORT`.
    pub(crate) key: Option<Arc<IssuerKey>>,
}

/// How long real tokens are good.
pub(crate) const SHORT: Duration = Duration::from_secs(6);

impl Default for Manner {
    fn default() -> Self {
        Self {
            expires_in: "3600",
            delay: Duration::ZERO,
            key: None,
        }
    }
}

/// Gives the tokens `issued-1`, `issued-2` and so on to whoever knows the secret. Ends when it is
/// dropped.
pub(crate) struct Issuer {
    url: String,
    given: Arc<AtomicUsize>,
    accepting: tokio::task::JoinHandle<()>,
}

pub(crate) const SECRET: &str = "s3cret&of=app";

impl Issuer {
    /// One that outlives the runtimes of single tests.
    pub(crate) fn for_the_whole_program(manner: Manner, server: Arc<rustls::ServerConfig>) -> Self {
        let (sender, started) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let _ = sender.send(Self::start(manner, Some(server)).await);
                std::future::pending::<()>().await;
            });
        });
        started.recv().expect("an issuer")
    }

    pub(crate) async fn plain(manner: Manner) -> Self {
        Self::start(manner, None).await
    }

    pub(crate) async fn start(manner: Manner, server: Option<Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let scheme = if server.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{address}");
        let given = Arc::new(AtomicUsize::new(0));
        let accepting = {
            let (url, given) = (url.clone(), given.clone());
            tokio::spawn(async move {
                while let Ok((socket, _)) = listener.accept().await {
                    let (url, given, server) = (url.clone(), given.clone(), server.clone());
                    let manner = manner.clone();
                    tokio::spawn(async move {
                        match server {
                            None => serve(socket, &url, &given, &manner).await,
                            Some(server) => {
                                if let Ok(stream) = TlsAcceptor::from(server).accept(socket).await {
                                    serve(stream, &url, &given, &manner).await;
                                }
                            }
                        }
                    });
                }
            })
        };
        Self {
            url,
            given,
            accepting,
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// How many tokens it has given.
    pub(crate) fn given(&self) -> usize {
        self.given.load(Ordering::SeqCst)
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// One request, one answer.
async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    url: &str,
    given: &AtomicUsize,
    manner: &Manner,
) {
    let Some(request) = request(&mut stream).await else {
        return;
    };
    tokio::time::sleep(manner.delay).await;
    let (status, body) = answer(&request, url, given, manner);
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all((head + &body).as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Head and body of a request.
async fn request<S: AsyncRead + Unpin>(stream: &mut S) -> Option<String> {
    let mut input = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&input).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, length)| length.trim().parse().unwrap_or(0));
            if body.len() >= length {
                return Some(text);
            }
        }
        if stream.read_buf(&mut input).await.ok()? == 0 {
            return None;
        }
    }
}

fn answer(request: &str, url: &str, given: &AtomicUsize, manner: &Manner) -> (&'static str, String) {
    if request.starts_with("GET /.well-known/openid-configuration ") {
        let body = format!(r#"{{"issuer":"{url}","token_endpoint":"{url}/token","jwks_uri":"{url}/keys"}}"#);
        return ("200 OK", body);
    }
    if request.starts_with("GET /keys ") {
        return (
            "200 OK",
            manner.key.as_ref().map_or_else(String::new, |key| key.jwks()),
        );
    }
    let form = request.rsplit("\r\n\r\n").next().unwrap_or_default();
    let knows = [
        "grant_type=client_credentials",
        "client_id=app",
        "client_secret=s3cret%26of%3Dapp",
    ]
    .iter()
    .all(|part| form.split('&').any(|given| given == *part));
    if !request.starts_with("POST /token ") || !knows {
        // Some issuers repeat what they were sent.
        let form = form.replace("%26", "&").replace("%3D", "=");
        let body = format!(r#"{{"error":"invalid_client","error_description":"cannot take {form}"}}"#);
        return ("401 Unauthorized", body);
    }
    let number = given.fetch_add(1, Ordering::SeqCst) + 1;
    let audience = if form.contains("audience=pulsar") {
        "-for-pulsar"
    } else {
        ""
    };
    let token = match &manner.key {
        Some(key) => key.token(url, "admin", SHORT),
        None => format!("issued-{number}{audience}"),
    };
    let expires_in = manner.expires_in;
    let body = format!(r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":{expires_in}}}"#);
    ("200 OK", body)
}

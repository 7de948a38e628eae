//! From an address to a link: the socket, TLS where the address asks for it, the handshake.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use pulsar_wire::ServerError;
use tokio::io::BufReader;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Link;
use super::handshake::Handshake;
use super::stream::{Stream, TLS_INPUT};
use crate::auth::Authenticator;
use crate::error::{Error, ErrorKind};
use crate::lookup::Target;
use crate::service_url::{Scheme, ServiceUrl};
use crate::tls::{self, Tls};

/// What a connection is made with.
#[derive(Clone, Debug)]
pub(crate) struct DialOptions {
    pub(crate) timeout: Duration,
    pub(crate) keep_alive: Duration,
    pub(crate) tls: Tls,
    pub(crate) authenticator: Arc<Authenticator>,
}

impl Link {
    /// Connects to `address`, which leads to `target`, and shakes hands.
    pub(crate) async fn dial(
        number: u64,
        address: &ServiceUrl,
        target: &Target,
        options: &DialOptions,
    ) -> Result<Arc<Self>, Error> {
        let authenticator = &options.authenticator;
        let credentials = authenticator.credentials().await?;
        let dialling = async {
            let stream = connect(address, options).await?;
            Handshake::new(stream, address, options, credentials.clone())
                .shake(target)
                .await
        };
        let handshake = tokio::time::timeout(options.timeout, dialling)
            .await
            .map_err(|_| {
                let text = format!("no connection to {address} within {:?}", options.timeout);
                Error::new(ErrorKind::Unreachable, text)
            })?;
        if let Err(error) = &handshake
            && error.kind() == ErrorKind::Refused(ServerError::AuthenticationError)
            && let Some(credentials) = &credentials
        {
            authenticator.refused(credentials).await;
        }
        Ok(handshake?.start(number, target.clone()))
    }
}

async fn connect(address: &ServiceUrl, options: &DialOptions) -> Result<Stream, Error> {
    let unreachable = |source: io::Error| {
        let text = format!("cannot connect to {address}");
        Error::with_source(ErrorKind::Unreachable, text, source)
    };
    let socket = TcpStream::connect((address.host(), address.port()))
        .await
        .map_err(unreachable)?;
    // A publish behind an acknowledgement would otherwise wait for the peer's delayed ACK.
    socket.set_nodelay(true).map_err(unreachable)?;
    match address.scheme() {
        Scheme::Plain => Ok(Stream::Plain(socket)),
        Scheme::Tls => {
            let config = options.tls.config().await?;
            let name = tls::server_name(address)?;
            let socket = BufReader::with_capacity(TLS_INPUT, socket);
            let stream = TlsConnector::from(config)
                .connect(name, socket)
                .await
                .map_err(|source| tls_failed(source, address, &options.tls))?;
            Ok(Stream::Tls(Box::new(stream)))
        }
    }
}

fn tls_failed(source: io::Error, address: &ServiceUrl, tls: &Tls) -> Error {
    if let Some(text) = tls::explain_refusal(&source, &address.to_string(), tls.has_certificate()) {
        return Error::with_source(ErrorKind::Tls, text, source);
    }
    let text = format!("{address} broke off the TLS handshake; is it a port without TLS?");
    Error::with_source(ErrorKind::Unreachable, text, source)
}

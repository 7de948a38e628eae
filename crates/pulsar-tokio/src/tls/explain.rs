//! What went wrong in a TLS handshake, as a sentence for whoever has to mend it.

use std::io;

use rustls::{AlertDescription, CertificateError, InvalidMessage};

/// What a TLS library's error says about `peer`; none if the failure is not about TLS.
pub(crate) fn explain(error: &io::Error, peer: &str) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let text = match error {
        rustls::Error::InvalidCertificate(error) => certificate(error, peer),
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            format!("{peer} does not speak TLS; is it a plain port?")
        }
        rustls::Error::AlertReceived(alert) => refusal(*alert, peer),
        rustls::Error::NoCertificatesPresented => format!("{peer} showed no certificate"),
        rustls::Error::PeerIncompatible(_) => {
            format!("{peer} and this client have no version or cipher of TLS in common")
        }
        _ => format!("the TLS handshake with {peer} failed"),
    };
    Some(text)
}

/// The same for a peer that may have ended the handshake because of the client's certificate, or
/// for lack of one.
pub(crate) fn explain_refusal(error: &io::Error, peer: &str, has_certificate: bool) -> Option<String> {
    let inner = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    match inner {
        rustls::Error::AlertReceived(alert) if is_about_certificate(*alert) => {
            Some(certificate_refused(peer, has_certificate))
        }
        // What Pulsar 4.0 sends for a certificate of an authority that it does not know.
        rustls::Error::AlertReceived(AlertDescription::InternalError) if has_certificate => Some(format!(
            "{peer} failed in the TLS handshake; does it trust the client certificate?"
        )),
        _ => explain(error, peer),
    }
}

fn certificate_refused(peer: &str, has_certificate: bool) -> String {
    if has_certificate {
        format!("{peer} refused the client certificate")
    } else {
        format!("{peer} requires a client certificate, and none is given")
    }
}

/// The alerts with which brokers refuse a client's certificate, or the lack of one.
fn is_about_certificate(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
    )
}

fn refusal(alert: AlertDescription, peer: &str) -> String {
    format!("{peer} ended the TLS handshake with the alert {alert:?}")
}

fn certificate(error: &CertificateError, peer: &str) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            format!("the certificate of {peer} was not issued by a trusted authority")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate of {peer} has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the certificate of {peer} is not valid yet")
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let presented = match &presented[..] {
                [] => "nobody".to_owned(),
                names => names.join(", "),
            };
            format!(
                "the certificate of {peer} is for {presented}, not for {}",
                expected.to_str()
            )
        }
        CertificateError::NotValidForName => format!("the certificate of {peer} is for another host"),
        CertificateError::Revoked => format!("the certificate of {peer} was revoked"),
        _ => format!("the certificate of {peer} cannot be taken"),
    }
}

//! How a cluster is reached: TLS, authentication, several hosts, settings.
//!
//! Most of it needs a peer that can be told to misbehave, so these tests bring a scripted one, with
//! certificates and an OAuth2 issuer of their own.

#[path = "../live/support.rs"]
#[allow(dead_code)]
mod support;

mod certificates;
mod credentials;
mod encryption;
mod hosts;
mod issuer;
mod oauth2;
mod real;
mod scripted;
mod secrecy;
mod transfer;

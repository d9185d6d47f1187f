//! The HTTP client for calls to others. Every call is bounded in time and in size, follows no redirect, uses no proxy,
//! is never repeated, and its failure says whether the request can have been sent.

use crate::gateway::addresses::{Reach, Resolver, literal, may_call};
use crate::gateway::outcome::reason;
use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, Url, redirect, retry};
use rustls::ClientConfig;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// The most that is read of an answer.
pub const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// The time for a name, a connection and its TLS session together.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const USER_AGENT: &str = concat!("ichido/", env!("CARGO_PKG_VERSION"));

/// Why no client, or no address to call, could be made of the settings. Never holds their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SetupError {
    /// TLS or the client could not be set up on this machine.
    #[error("the HTTP client could not be made")]
    Client,
    /// Not an absolute `http` or `https` URL, or one with a user, a query or a fragment.
    #[error("an URL such as https://api.stripe.com is expected, without user, query or fragment")]
    Url,
    /// `http` on a live organisation.
    #[error("a live organisation needs an https URL")]
    NotHttps,
    /// A private, loopback or link-local address on a live organisation.
    #[error("a live organisation needs a public address")]
    NotPublic,
    /// The URL ends in the API's version.
    #[error("the URL is expected without /v1")]
    Version,
    /// The secret is empty or cannot be sent in a header.
    #[error("the secret is not one")]
    Secret,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Certainly before anything was sent; why.
    NotSent(&'static str),
    /// The request, or a part of it, may have been received; why.
    NoAnswer(&'static str),
}

/// A complete answer, whatever its status.
#[derive(Debug)]
pub struct Received {
    /// HTTP status.
    pub status: u16,
    /// Header fields.
    pub headers: HeaderMap,
    /// At most [`MAX_ANSWER_BYTES`].
    pub body: Vec<u8>,
}

/// The client. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Outgoing {
    client: Client,
    reach: Reach,
    timeout: Duration,
}

impl Outgoing {
    /// A client whose calls end within `timeout`, the answer's last byte included.
    ///
    /// # Errors
    ///
    /// [`SetupError::Client`].
    pub fn new(reach: Reach, timeout: Duration) -> Result<Self, SetupError> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls()?)
            .https_only(reach == Reach::Public)
            .dns_resolver(Arc::new(Resolver::new(reach)))
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT_TIMEOUT.min(timeout))
            .timeout(timeout)
            // Shorter than servers keep idle connections, so that a request seldom meets one that is being closed.
            .pool_idle_timeout(Duration::from_secs(20))
            .build()
            .map_err(|_| SetupError::Client)?;
        Ok(Self { client, reach, timeout })
    }

    /// Checks an address from the settings. Names are checked again when they are resolved.
    ///
    /// # Errors
    ///
    /// [`SetupError`].
    pub fn checked_url(&self, text: &str) -> Result<Url, SetupError> {
        let url = Url::parse(text).map_err(|_| SetupError::Url)?;
        let plain = url.username().is_empty() && url.password().is_none();
        if !plain || url.query().is_some() || url.fragment().is_some() {
            return Err(SetupError::Url);
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(SetupError::Url)?;
        match (url.scheme(), self.reach) {
            ("https", _) | ("http", Reach::Any) => {}
            ("http", Reach::Public) => return Err(SetupError::NotHttps),
            _ => return Err(SetupError::Url),
        }
        // The URL parser has brought every spelling of an address (octal, hexadecimal, one number) into the usual one.
        if literal(host).is_some_and(|address| !may_call(address, self.reach)) {
            return Err(SetupError::NotPublic);
        }
        Ok(url)
    }

    /// The client, to begin a request with.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// How long a call may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sends a request and reads its whole answer.
    ///
    /// # Errors
    ///
    /// [`Failure`], which says whether the request can have been received.
    pub async fn send(&self, request: RequestBuilder) -> Result<Received, Failure> {
        let mut response = request.send().await.map_err(|error| failure(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| no_answer(&error))? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(Failure::NoAnswer(reason::OVERSIZED));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Received { status, headers, body })
    }
}

/// Before sending are: a request that could not be built, and everything up to and including the TLS handshake (hyper's
/// "connect", which holds name resolution and our refusal of an address). All else may come after the first byte.
fn failure(error: &reqwest::Error) -> Failure {
    if error.is_builder() {
        Failure::NotSent(reason::NOT_BUILT)
    } else if error.is_connect() {
        Failure::NotSent(reason::NOT_CONNECTED)
    } else {
        no_answer(error)
    }
}

fn no_answer(error: &reqwest::Error) -> Failure {
    Failure::NoAnswer(if error.is_timeout() {
        reason::TIMEOUT
    } else if is_parse_error(error) {
        reason::UNREADABLE
    } else {
        reason::CONNECTION_LOST
    })
}

/// Whether the other side spoke something else than HTTP. hyper's type is not ours to name, so its text is compared.
fn is_parse_error(error: &reqwest::Error) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.to_string().starts_with("invalid HTTP") {
            return true;
        }
        source = cause.source();
    }
    false
}

/// TLS by rustls with ring, whatever the process's default provider is, and the system's certificate authorities.
fn tls() -> Result<ClientConfig, SetupError> {
    let mut roots = rustls::RootCertStore::empty();
    // Certificates that cannot be read are left out; a server signed by one of them is then refused.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| SetupError::Client)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reach: Reach, url: &str) -> Result<Url, SetupError> {
        Outgoing::new(reach, Duration::from_secs(1)).unwrap().checked_url(url)
    }

    #[test]
    fn live_organisations_call_public_https_only() {
        assert!(check(Reach::Public, "https://api.stripe.com").is_ok());
        assert!(check(Reach::Public, "https://1.1.1.1").is_ok());
        assert_eq!(check(Reach::Public, "http://api.stripe.com"), Err(SetupError::NotHttps));
        for host in ["127.0.0.1", "0x7f.1", "2130706433", "0177.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]"] {
            assert_eq!(check(Reach::Public, &format!("https://{host}/")), Err(SetupError::NotPublic), "{host}");
        }
        for host in ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[fe80::1]", "[fd00::1]"] {
            assert_eq!(check(Reach::Public, &format!("https://{host}:8443")), Err(SetupError::NotPublic), "{host}");
        }
    }

    #[test]
    fn test_organisations_call_anything_that_is_a_url() {
        for url in ["http://127.0.0.1:8080/stripe", "http://localhost", "https://api.stripe.com"] {
            assert!(check(Reach::Any, url).is_ok(), "{url}");
        }
        for url in
            ["", "stripe", "ftp://x", "file:///etc/passwd", "http://u@x", "http://:p@x", "http://x?a", "http://x#a"]
        {
            assert_eq!(check(Reach::Any, url), Err(SetupError::Url), "{url}");
        }
    }
}

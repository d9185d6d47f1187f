//! HTTP on raw sockets: smuggling, slow clients, odd framing.

mod framing;
mod heads;
mod methods;
mod slow;
mod smuggling;

use crate::support::app::{TestApp, order_body};
use crate::support::raw::{Raw, RawAnswer};

/// The head of a `POST /v1/orders` with these further lines, each ended by CRLF.
fn head(app: &TestApp, key: &str, lines: &str) -> String {
    format!(
        "POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nIdempotency-Key: {key}\r\n\
         Content-Type: application/json\r\n{lines}\r\n",
        app.org.token
    )
}

/// A whole, good `POST /v1/orders`.
fn post(app: &TestApp, key: &str) -> String {
    let body = order_body().to_string();
    head(app, key, &format!("Content-Length: {}\r\n", body.len())) + &body
}

/// A good `GET`, to see whether a connection still tells one request from the next.
fn probe() -> &'static str {
    "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
}

/// Sends on a connection of its own and gives the first answer.
async fn ask(app: &TestApp, request: impl AsRef<[u8]>) -> RawAnswer {
    let mut raw = Raw::connect(&app.base).await;
    raw.send(request).await;
    raw.answer().await
}

/// Sends on a connection of its own and gives the code of the problem it is answered with.
async fn refused(app: &TestApp, request: impl AsRef<[u8]>) -> (u16, String) {
    let answer = ask(app, request).await;
    (answer.status, answer.problem())
}

/// The HTTP parser's own refusal: 400 without a body, and the connection closes.
async fn assert_bare_400(app: &TestApp, request: impl AsRef<[u8]>) {
    let request = request.as_ref();
    let mut raw = Raw::connect(&app.base).await;
    raw.send(request).await;
    let answer = raw.answer().await;
    let told = String::from_utf8_lossy(request);
    assert_eq!((answer.status, answer.body.len()), (400, 0), "{told}: {answer:?}");
    raw.closed().await;
}

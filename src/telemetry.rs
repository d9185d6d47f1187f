//! Logs: one JSON object a line on standard error, or text for people.
//!
//! A log line holds order id, organisation, route and a key's hash; never a key, a body, a secret, SQL or a value.

use std::env;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// The default filter: refused and failed requests are logged, answered ones only with `ichido::access=debug`, since a
/// line for each would cost a busy server a tenth of its speed. `/metrics` counts them all.
pub const DEFAULT_FILTER: &str = "info";

/// Starts logging as `ICHIDO_LOG` (`json` or `text`; text on a terminal otherwise) and `RUST_LOG` say. Only the first
/// call in a process has an effect.
pub fn init(default_filter: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default_filter));
    let text = match env::var("ICHIDO_LOG").as_deref() {
        Ok("text") => true,
        Ok("json") => false,
        _ => std::io::stderr().is_terminal(),
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // An error means that a subscriber is there already, which is as good.
    let _ = if text {
        builder.with_target(false).try_init()
    } else {
        builder.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init()
    };
}

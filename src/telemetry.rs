//! Logs: one JSON object a line on standard error, or text for people.
//!
//! A log line holds order id, organisation, route and a key's hash; never a key, a body, a secret, SQL or a value.

use std::env;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{Targets, dynamic_filter_fn, filter_fn};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The default filter: refused and failed requests are logged, answered ones only with `ichido::access=debug`, since a
/// line for each would cost a busy server a tenth of its speed. `/metrics` counts them all.
pub const DEFAULT_FILTER: &str = "info";

/// Starts logging as `ICHIDO_LOG` (`json` or `text`; text on a terminal otherwise) and `RUST_LOG` say. Only the first
/// call in a process has an effect.
pub fn init(default_filter: &str) {
    let asked = env::var("RUST_LOG").ok().map(|text| targets(&text));
    // The default is a constant of ours, and valid.
    let filter = asked.clone().flatten().unwrap_or_else(|| targets(default_filter).unwrap_or_default());
    let text = match env::var("ICHIDO_LOG").as_deref() {
        Ok("text") => true,
        Ok("json") => false,
        _ => std::io::stderr().is_terminal(),
    };
    let subscriber = tracing_subscriber::registry().with(filter).with(filter_fn(may_be_logged));
    let subscriber = subscriber.with(dynamic_filter_fn(|metadata, _| is_news(metadata)));
    let lines = fmt::layer().with_writer(std::io::stderr);
    // An error means that a subscriber is there already, which is as good.
    let _ = if text {
        subscriber.with(lines.with_target(false)).try_init()
    } else {
        let lines = lines.json().flatten_event(true).with_current_span(true).with_span_list(false);
        subscriber.with(lines).try_init()
    };
    if asked.is_some_and(|asked| asked.is_none()) && env::var("RUST_LOG").is_ok_and(|text| !text.trim().is_empty()) {
        tracing::warn!("RUST_LOG is not a filter such as info,ichido::access=debug, and has no effect");
    }
}

/// Reads a filter such as `info,ichido::access=debug`; `None` when it is none. An empty part, which would be a level of its own, is
/// left out.
fn targets(text: &str) -> Option<Targets> {
    let parts: Vec<_> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { None } else { parts.join(",").parse().ok() }
}

/// The libraries' own lines are warnings and errors only, whatever `RUST_LOG` says: below that the PostgreSQL client
/// writes SQL with its parameters, and the HTTP library what clients sent. That one's protocol layer is left out wholly: it
/// calls every malformed head an error, so that anybody could fill the log.
fn may_be_logged(metadata: &Metadata<'_>) -> bool {
    match metadata.target().split("::").next() {
        Some("ichido") => true,
        Some("actix_http") => false,
        _ => *metadata.level() <= Level::WARN,
    }
}

static REFUSED: AtomicBool = AtomicBool::new(false);

/// From now on this process takes no connections any more.
pub fn connections_are_refused() {
    REFUSED.store(true, Ordering::Relaxed);
}

/// That no connection can be taken is an error before that, and no news afterwards.
fn is_news(metadata: &Metadata<'_>) -> bool {
    !(REFUSED.load(Ordering::Relaxed) && metadata.target() == "actix_server::accept")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_parts_of_a_filter_say_nothing() {
        for same in ["info,ichido::access=debug", "info,,ichido::access=debug,", " info , ichido::access=debug"] {
            assert_eq!(targets(same), targets("info,ichido::access=debug"), "{same}");
        }
        assert!(targets("info,").unwrap().would_enable("ichido", &Level::INFO));
        assert_eq!((targets(""), targets(","), targets("x=nonsense")), (None, None, None));
    }
}

//! `/metrics` in both formats, read strictly; and no label ever holds what a client sent.

use crate::support::app::{TestApp, order_body};
use reqwest::Method;
use std::collections::HashMap;

const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The samples of a page, by name and labels as they are written.
type Samples = HashMap<String, f64>;

/// The family that the lines belong to.
#[derive(Default)]
struct Family {
    name: String,
    kind: String,
}

async fn page(app: &TestApp, accept: &str) -> (String, String) {
    let answer = app.send(app.request(Method::GET, "/metrics").header("Accept", accept), "/metrics").await;
    assert_eq!(answer.status, 200);
    (answer.header("content-type").unwrap().to_owned(), String::from_utf8(answer.body).unwrap())
}

async fn samples(app: &TestApp) -> Samples {
    read(&page(app, "text/plain").await.1, false)
}

/// Reads a page and refuses everything that its format does not allow.
fn read(page: &str, open_metrics: bool) -> Samples {
    assert_eq!(page.ends_with("\n# EOF\n"), open_metrics, "{page}");
    let (mut samples, mut family, mut families) = (Samples::new(), Family::default(), Vec::new());
    for line in page.trim_end_matches("# EOF\n").lines() {
        let Some(comment) = line.strip_prefix("# ") else {
            let (series, value) = read_sample(line, &family, open_metrics);
            assert!(samples.insert(series, value).is_none(), "twice: {line}");
            continue;
        };
        let (word, rest) = comment.split_once(' ').unwrap();
        let (name, text) = rest.split_once(' ').unwrap();
        assert!(is_name(name) && name.starts_with("ichido_"), "{line}");
        match word {
            "HELP" => {
                assert!(!families.contains(&name.to_owned()) && text.len() >= 10, "{line}");
                families.push(name.to_owned());
                family = Family { name: name.to_owned(), kind: String::new() };
            }
            "TYPE" => {
                assert!(family.name == name && ["counter", "gauge", "histogram"].contains(&text), "{line}");
                text.clone_into(&mut family.kind);
            }
            "UNIT" => assert!(open_metrics && family.name == name && name.ends_with(&format!("_{text}")), "{line}"),
            _ => panic!("{line}"),
        }
    }
    check_histograms(&samples);
    samples
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(fits) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// `name{label="value",…} number`, of the family before it.
fn read_sample(line: &str, family: &Family, open_metrics: bool) -> (String, f64) {
    let (series, number) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
    let (name, labels) = match series.split_once('{') {
        Some((name, rest)) => (name, rest.strip_suffix('}').unwrap_or_else(|| panic!("{line}"))),
        None => (series, ""),
    };
    let endings: &[&str] = match (family.kind.as_str(), open_metrics) {
        ("counter", true) => &["_total"],
        ("counter", false) | ("gauge", _) => &[""],
        ("histogram", _) => &["_bucket", "_sum", "_count"],
        _ => panic!("before its # TYPE: {line}"),
    };
    let fits = endings.iter().any(|ending| format!("{}{ending}", family.name) == name);
    assert!(fits && (family.kind != "counter" || name.ends_with("_total")), "not of {}: {line}", family.name);
    for label in labels.split_terminator(',') {
        let (name, value) = label.split_once('=').unwrap_or_else(|| panic!("{line}"));
        let value =
            value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or_else(|| panic!("{line}"));
        // All of ours are plain; anything else came from outside.
        let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "/_-{}.+".contains(c));
        assert!(is_name(name) && plain && !value.is_empty(), "{line}");
    }
    (series.to_owned(), number.parse().unwrap_or_else(|_| panic!("{line}")))
}

/// Buckets rise, and the last one is the count.
fn check_histograms(samples: &Samples) {
    let mut series: HashMap<String, Vec<(f64, f64)>> = HashMap::new();
    for (name, value) in samples {
        if let Some((name, rest)) = name.split_once("_bucket{") {
            let (bound, labels) =
                rest.trim_end_matches('}').split(',').partition::<Vec<_>, _>(|it| it.starts_with("le="));
            let bound = bound[0].trim_start_matches("le=").trim_matches('"').replace("+Inf", "inf");
            let count = format!("{name}_count{{{}}}", labels.join(","));
            series.entry(count).or_default().push((bound.parse().unwrap(), *value));
        }
    }
    for (count, mut buckets) in series {
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(buckets.is_sorted_by(|one, other| one.1 <= other.1), "{count}: {buckets:?}");
        let last = buckets.last().unwrap();
        assert!(last.0.is_infinite() && (last.1 - samples[&count]).abs() < 0.5, "{count}: {buckets:?}");
    }
}

#[tokio::test]
async fn the_format_is_the_one_that_was_asked_for() {
    let app = TestApp::start().await;
    app.post("K", &order_body()).await;
    for accept in ["*/*", "text/plain", "text/plain;version=0.0.4;q=0.3, */*;q=0.1"] {
        let (content_type, page) = page(&app, accept).await;
        assert_eq!(content_type, PROMETHEUS);
        assert!(read(&page, false).len() > 30);
    }
    let scraper = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    for accept in ["application/openmetrics-text", scraper] {
        let (content_type, page) = page(&app, accept).await;
        assert_eq!(content_type, OPEN_METRICS);
        assert!(read(&page, true).len() > 30 && page.contains("# UNIT ichido_statement_duration_seconds seconds"));
    }
}

#[tokio::test]
async fn the_counters_move() {
    let app = TestApp::start().await;
    let before = samples(&app).await;
    let mut other = order_body();
    other["currency"] = "EUR".into();
    for (key, body, status) in [
        ("A", order_body(), 201),
        ("A", order_body(), 200),
        ("A", other, 422),
        ("B", "{}".into(), 400),
        ("C", order_body(), 201),
    ] {
        assert_eq!(app.post(key, &body).await.status, status);
    }
    assert_eq!(app.get("/nowhere", "/nowhere").await.status, 404);
    let after = samples(&app).await;
    let get = |samples: &Samples, name: &str| samples.get(name).copied().unwrap_or_default();
    let orders =
        |status: u16| format!("ichido_http_requests_total{{method=\"POST\",route=\"/v1/orders\",status=\"{status}\"}}");
    let statement = |name: &str| format!("ichido_statement_duration_seconds_count{{statement=\"{name}\"}}");
    for (name, moved) in [
        (orders(201), 2.0),
        (orders(200), 1.0),
        (orders(422), 1.0),
        (orders(400), 1.0),
        ("ichido_http_requests_total{method=\"GET\",route=\"unmatched\",status=\"404\"}".to_owned(), 1.0),
        // The page that was read before counted itself only afterwards.
        ("ichido_http_requests_total{method=\"GET\",route=\"/metrics\",status=\"200\"}".to_owned(), 1.0),
        ("ichido_http_request_duration_seconds_count{route=\"/v1/orders\"}".to_owned(), 5.0),
        ("ichido_claims_total{outcome=\"created\"}".to_owned(), 2.0),
        ("ichido_claims_total{outcome=\"replayed\"}".to_owned(), 1.0),
        ("ichido_claims_total{outcome=\"key_reused\"}".to_owned(), 1.0),
        ("ichido_claims_total{outcome=\"invalid\"}".to_owned(), 1.0),
        (statement("idempotency_keys/claim_with_order"), 2.0),
        // The replay and the other body, since their key was answered lately, and what is refused may have been accepted once.
        (statement("idempotency_keys/find"), 3.0),
        (statement("idempotency_keys/request_of"), 1.0),
    ] {
        let change = get(&after, &name) - get(&before, &name);
        assert!((change - moved).abs() < 0.5, "{name} moved by {change} instead of {moved}");
    }
    let seconds = get(&after, "ichido_statement_duration_seconds_sum{statement=\"idempotency_keys/claim_with_order\"}");
    assert!(seconds > 0.0 && seconds < 10.0, "{seconds}");
    assert!(get(&after, "ichido_pool_connections{state=\"idle\"}") >= 1.0);
    assert!(after.contains_key("ichido_pool_connections{state=\"used\"}") && after.contains_key("ichido_pool_waiting"));
    assert!(after.contains_key("ichido_idempotency_keys_removed_total"));
}

#[tokio::test]
async fn no_label_holds_what_a_client_sent() {
    let app = TestApp::start().await;
    let series = samples(&app).await.len();
    for number in 0..20 {
        let marker = format!("zzmarker{number}");
        let method = Method::from_bytes(format!("ZZMARKER{number}").as_bytes()).unwrap();
        for path in [format!("/{marker}"), format!("/v1/orders/{marker}"), format!("/problems/{marker}?{marker}=1")] {
            app.request(method.clone(), &path).send().await.unwrap();
            let request = app.request(Method::GET, &path).header("User-Agent", &marker).header("Host", &marker);
            request
                .header("Authorization", format!("Bearer {marker}"))
                .header(marker.as_str(), &marker)
                .send()
                .await
                .unwrap();
        }
        app.post(&marker, &marker.as_str().into()).await;
        app.get(&format!("/v1/idempotency-keys/{marker}"), "/v1/idempotency-keys/{idempotency_key}").await;
    }
    for (accept, open_metrics) in [("text/plain", false), ("application/openmetrics-text", true)] {
        let (_, page) = page(&app, accept).await;
        assert!(!page.to_lowercase().contains("zzmarker"), "{page}");
        // Twenty of everything are no more series than one of each.
        assert!(read(&page, open_metrics).len() < series + 250);
    }
}

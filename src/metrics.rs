//! What the process counts about itself, for `/metrics`. No label ever holds anything that a client sent.

use prometheus_client::encoding::{EncodeLabelSet, prometheus_text, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::time::Duration;

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The process's counters. One for each process, shared by all layers.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Histograms<RouteLabels>,
    claims: Family<ClaimLabels, Counter>,
    effects: Family<EffectLabels, Counter>,
    statement_seconds: Histograms<StatementLabels>,
    pool_connections: Family<PoolLabels, Gauge>,
    pool_waiting: Gauge,
    keys_removed: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClaimLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EffectLabels {
    kind: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatementLabels {
    statement: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PoolLabels {
    state: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("ichido"),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(seconds as fn() -> Histogram),
            claims: Family::default(),
            effects: Family::default(),
            statement_seconds: Family::new_with_constructor(seconds as fn() -> Histogram),
            pool_connections: Family::default(),
            pool_waiting: Gauge::default(),
            keys_removed: Counter::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("http_requests", "Requests answered", self.requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "From the request's head to its answer's head",
            Unit::Seconds,
            self.request_seconds.clone(),
        );
        registry.register("claims", "What requests for an order came to", self.claims.clone());
        registry.register("effects", "What was learned of charges and refunds, each time", self.effects.clone());
        registry.register_with_unit(
            "statement_duration",
            "From sending a statement to its last row",
            Unit::Seconds,
            self.statement_seconds.clone(),
        );
        registry.register("pool_connections", "Database connections", self.pool_connections.clone());
        registry.register("pool_waiting", "Requests that wait for a database connection", self.pool_waiting.clone());
        registry.register("idempotency_keys_removed", "Keys removed by clean-up", self.keys_removed.clone());
    }

    /// Counts one answered request. `method` and `route` are of the routing table, never the client's text.
    pub fn request(&self, method: &'static str, route: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&RequestLabels { method, route, status }).inc();
        self.request_seconds.get_or_create(&RouteLabels { route }).observe(took.as_secs_f64());
    }

    /// Counts what one request for an order came to.
    pub fn claim(&self, outcome: &'static str) {
        self.claims.get_or_create(&ClaimLabels { outcome }).inc();
    }

    /// Counts what was learned of one effect; both are from closed lists.
    pub fn effect(&self, kind: &'static str, outcome: &'static str) {
        self.effects.get_or_create(&EffectLabels { kind, outcome }).inc();
    }

    /// Notes how long one statement took.
    pub fn statement(&self, statement: &'static str, took: Duration) {
        self.statement_seconds.get_or_create(&StatementLabels { statement }).observe(took.as_secs_f64());
    }

    /// Notes the state of the connection pool.
    pub fn pool(&self, used: usize, idle: usize, waiting: usize) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.pool_connections.get_or_create(&PoolLabels { state: "used" }).set(number(used));
        self.pool_connections.get_or_create(&PoolLabels { state: "idle" }).set(number(idle));
        self.pool_waiting.set(number(waiting));
    }

    /// Counts keys that clean-up removed.
    pub fn keys_removed(&self, count: u64) {
        self.keys_removed.inc_by(count);
    }

    /// Everything, as OpenMetrics 1.0 or as Prometheus' text format 0.0.4.
    #[must_use]
    pub fn render(&self, open_metrics: bool) -> String {
        let mut page = String::new();
        let written = if open_metrics {
            text::encode(&mut page, &self.registry)
        } else {
            prometheus_text::encode(&mut page, &self.registry)
        };
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
        page
    }
}

/// From half a millisecond, a fast statement, to 5 s, longer than any request may take.
fn seconds() -> Histogram {
    Histogram::new([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0])
}

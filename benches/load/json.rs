//! The report for programs: `load.json`.

use serde_json::{Value, json};

use crate::gates::{Gate, gates};
use crate::report::Report;
use crate::table::NOTES;
use crate::work::{Sample, Work};

impl Report {
    /// All figures, those of each run included.
    pub fn json(&self) -> Value {
        let cells: Vec<_> = self.cells().into_iter().map(|(work, connections)| self.cell(work, connections)).collect();
        let ratios: Vec<_> = self
            .ratios()
            .into_iter()
            .map(|((above, below), connections, ratio)| {
                json!({"name": format!("{} / {}", above.id(), below.id()), "connections": connections, "ratio": ratio})
            })
            .collect();
        let relations: Vec<_> = self
            .connections(Work::New)
            .into_iter()
            .map(|connections| json!({"connections": connections, "ratio": self.cpu_in_relation(connections)}))
            .collect();
        json!({
            "environment": {
                "cores": self.environment.cores,
                "postgres": self.environment.postgres,
                "durability": self.environment.durability,
                "kernel": self.environment.kernel,
                "load_before": self.environment.load_before,
            },
            "rounds": self.rounds,
            "seconds_per_run": self.duration.as_secs(),
            "medians": cells,
            "ratios": ratios,
            "server_cpu_for_a_new_order_to_postgres_cpu_for_a_single_statement": relations,
            "memory_mib_at_128": self.memory(128).map(|memory| json!({"rss": memory.resident, "peak": memory.peak})),
            "steps": self.steps.iter().map(|steps| json!({
                "effects_per_second": steps.per_second, "worker_memory_mib": steps.memory,
                "worker_cpu_us": steps.worker_cpu_us, "errors": steps.errors,
            })).collect::<Vec<_>>(),
            "cpu_of_others": self.others().map(|(median, most)| json!({"median": median, "most": most})),
            "rows": self.rows.map(|(keys, orders)| json!({"idempotency_keys": keys, "orders": orders})),
            "gates": gates(self).iter().map(Gate::json).collect::<Vec<_>>(),
            "error_notes": self.notes().take(NOTES).collect::<Vec<_>>(),
        })
    }

    fn cell(&self, work: Work, connections: usize) -> Value {
        let median = |figure: fn(&Sample) -> Option<f64>| self.median(work, connections, figure);
        let rounds = || self.of(work, connections);
        json!({
            "work": work.id(),
            "connections": connections,
            "per_second": median(|sample| Some(sample.per_second)),
            "p50_ms": median(|sample| Some(sample.p50_ms)),
            "p99_ms": median(|sample| Some(sample.p99_ms)),
            "errors": rounds().map(|sample| sample.errors).sum::<u64>(),
            "server_cpu_us": median(|sample| sample.server_cpu_us),
            "postgres_cpu_us": median(|sample| sample.postgres_cpu_us),
            "server_rss_mib": median(|sample| sample.memory.map(|memory| memory.resident)),
            "wal_bytes": median(|sample| sample.wal_bytes),
            "sent_late_p50_ms": median(|sample| sample.sent_late_ms.map(|late| late.0)),
            "sent_late_p99_ms": median(|sample| sample.sent_late_ms.map(|late| late.1)),
            "answers_of_rounds": rounds().map(|sample| &sample.answers).collect::<Vec<_>>(),
            "per_second_of_rounds": rounds().map(|sample| sample.per_second).collect::<Vec<_>>(),
        })
    }
}

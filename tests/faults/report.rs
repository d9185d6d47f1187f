//! The table, and the same figures as JSON.

use crate::after_kill::{AfterKill, BOUND, Percentiles};
use crate::arguments::Arguments;
use crate::fault::LINES;
use crate::history::Verdict;
use crate::judge::steps::STEPS;
use crate::judge::{Evidence, TEETH};
use crate::ledger::{Figures, Kind, Ledger};
use crate::proxy::Proxy;
use crate::stack::Stack;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// How many violations and cases the table shows, and how many violations the JSON holds; all are in the log.
const SHOWN: usize = 20;
const WRITTEN: usize = 500;

/// What a run came to.
pub struct Report<'a> {
    /// What it was told.
    pub arguments: &'a Arguments,
    /// What replays its choices.
    pub seed: u32,
    /// What ran.
    pub stack: &'a Stack,
    /// What happened.
    pub ledger: &'a Ledger,
    /// What the judges looked at.
    pub evidence: &'a Evidence,
    /// What the history's checker came to.
    pub history: &'a Verdict,
}

impl Report<'_> {
    /// Every figure, by name.
    fn rows(&self, figures: &Figures) -> Vec<(&'static str, Value)> {
        let (waiting, in_progress) = self.evidence.in_progress();
        let count = |kind| figures.violations.iter().filter(|violation| violation.kind == kind).count();
        let records = &self.evidence.records;
        let paid_orders = records.iter().filter(|record| {
            record.order.method.is_some() && record.told.as_ref().is_some_and(|told| told.answer.status != 402)
        });
        let (restarts, refused) = self.stack.restarts();
        let Arguments { clients, paid, .. } = self.arguments;
        let (run, faults) = (self.arguments.run(), self.arguments.faults());
        let cancels = self.arguments.cancels();
        let on_lines = |count: fn(&Proxy) -> u64| {
            let each = LINES.map(|line| (line.name(), self.stack.proxies(line).into_iter().map(count).sum::<u64>()));
            json!(BTreeMap::from(each))
        };
        let mut rows = vec![
            ("run", json!(format!("{run}, {faults} faults, {clients} clients, {paid} % paid, {cancels} % cancelled"))),
            ("seed", json!(self.seed)),
            ("seconds", json!(self.ledger.elapsed().as_secs())),
            ("faults by kind", json!(figures.faults)),
            ("requests struck, by line", on_lines(Proxy::struck)),
            ("reads that passed in pieces, by line", on_lines(Proxy::split_count)),
            ("starts after an end, refused ones", json!([restarts, refused])),
            ("requests", json!(figures.requests)),
            ("requests hung up on", json!(figures.hung_up)),
            ("answers by status", json!(figures.answers)),
            ("orders", json!(self.evidence.orders.len())),
            ("keys with a definite answer", json!(records.iter().filter(|record| record.told.is_some()).count())),
            ("paid orders", json!(paid_orders.count())),
            ("charges at the gateway", json!(self.evidence.count("charge"))),
            ("refunds at the gateway", json!(self.evidence.count("refund"))),
            ("effects at partners", json!(STEPS.iter().map(|step| self.evidence.count(step)).sum::<u64>())),
            ("operations by state", json!(self.evidence.operations)),
            ("double charges", json!(count(Kind::DoubleCharge))),
            ("wrong charges", json!(count(Kind::WrongCharge))),
            ("wrong refunds", json!(count(Kind::WrongRefund))),
            ("steps done twice", json!(count(Kind::DoubleStep))),
            ("steps missing or not asked for", json!(count(Kind::WrongStep))),
            ("lost acknowledgements", json!(count(Kind::LostAcknowledgement))),
            ("keys without their one order", json!(count(Kind::OrdersPerKey))),
            ("replays that differ", json!(count(Kind::Replay))),
            ("answers that should not be", json!(count(Kind::Answer))),
            ("calls and keys in the history", json!([self.history.calls, self.history.keys])),
            ("registers searched, by the rule alone", json!([self.history.searched, self.history.ruled])),
            ("the history's invariants violated", json!(count(Kind::History))),
            ("processes that ended by themselves", json!(count(Kind::Process))),
            ("in-progress claims after 60 s", json!(in_progress)),
            ("unfinished operations after 60 s", json!(self.evidence.unfinished_operations())),
            ("claims that wait for a person", json!(waiting)),
            ("open cases", json!(self.evidence.cases.len())),
        ];
        rows.extend(figures.others.iter().cloned());
        rows
    }

    /// From the kill of a server to the definite answer of what was on its way there: of all that were caught, and of those
    /// that nothing else struck.
    fn after_kill(all: &[AfterKill]) -> [(&'static str, Option<Percentiles>); 2] {
        let any = Percentiles::of(all.iter().map(|after| after.time));
        [("from a server's kill to the answer", any), ("    when nothing else struck", Percentiles::alone(all))]
    }

    /// Every figure.
    pub fn json(&self) -> Value {
        let figures = self.ledger.figures();
        let figure = self.rows(&figures).into_iter().map(|(name, value)| (name.to_owned(), value));
        let violations = figures.violations.iter().take(WRITTEN);
        let violations = violations.map(|found| json!({ "kind": format!("{:?}", found.kind), "what": found.what }));
        json!({
            "run": self.arguments.run(),
            "faults": figures.faults.values().sum::<u64>(),
            "operations": figures.requests,
            "violations": figures.violations.len(),
            "seed": self.seed,
            "seconds": self.ledger.elapsed().as_secs_f64(),
            "figures": figure.collect::<serde_json::Map<_, _>>(),
            "from_kill_to_answer": Self::after_kill(&figures.after_kill).map(|(name, times)| (name.trim(), times.map(json_of)))
                .into_iter().collect::<BTreeMap<_, _>>(),
            "bound_seconds": BOUND.as_secs(),
            "open_cases": self.evidence.cases,
            "violated": violations.collect::<Vec<_>>(),
            "passed": figures.violations.is_empty(),
        })
    }
}

fn json_of(times: Percentiles) -> Value {
    let Percentiles { count, p50, p99, most } = times;
    let [p50, p99, most] = [p50, p99, most].map(|time| time.as_secs_f64());
    json!({ "requests": count, "p50_seconds": p50, "p99_seconds": p99, "most_seconds": most })
}

impl Display for Report<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let figures = self.ledger.figures();
        for (name, value) in self.rows(&figures) {
            match &value {
                Value::Object(parts) if parts.is_empty() => writeln!(f, "{name:<40} -")?,
                Value::Object(parts) => {
                    writeln!(f, "{name:<40} {}", parts.values().filter_map(Value::as_u64).sum::<u64>())?;
                    parts.iter().try_for_each(|(part, count)| writeln!(f, "    {part:<36} {count}"))?;
                }
                Value::Array(parts) => {
                    let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
                    writeln!(f, "{name:<40} {}", parts.join(", "))?;
                }
                Value::String(text) => writeln!(f, "{name:<40} {text}")?,
                _ => writeln!(f, "{name:<40} {value}")?,
            }
        }
        for (name, times) in Self::after_kill(&figures.after_kill) {
            match times {
                None => writeln!(f, "{name:<40} - (of no request)")?,
                Some(Percentiles { count, p50, p99, most }) => {
                    let [p50, p99, most] = [p50, p99, most].map(|time| time.as_secs_f64());
                    let bound = BOUND.as_secs();
                    writeln!(
                        f,
                        "{name:<40} p50 {p50:.2} s, p99 {p99:.2} s, most {most:.2} s (of {count} requests; lease + 2 s is {bound} s)"
                    )?;
                }
            }
        }
        writeln!(f, "{:<40} {} of {}", "planted faults the judges saw before", TEETH.len(), TEETH.len())?;
        self.evidence.cases.iter().take(SHOWN).try_for_each(|case| writeln!(f, "open case: {case}"))?;
        for found in figures.violations.iter().take(SHOWN) {
            writeln!(f, "violation: {:?}: {}", found.kind, found.what)?;
        }
        let verdict = if figures.violations.is_empty() { "PASSED" } else { "FAILED" };
        write!(f, "{:<40} {verdict}, {} violations", "verdict", figures.violations.len())
    }
}

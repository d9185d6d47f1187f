//! What was counted, beside what should have been.

use serde::Serialize;
use std::fmt::Write;

/// One effect of one order, counted at its receiver.
#[derive(Debug, Clone)]
pub struct Counted {
    /// `charge`, `refund`, or a step.
    pub effect: &'static str,
    /// How often it should have happened.
    pub expected: u64,
    /// How often it did.
    pub seen: u64,
}

/// The judgement of one effect in one scenario.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    scenario: &'static str,
    effect: String,
    expected: Option<u64>,
    seen: Option<u64>,
    /// Whether it happened exactly as often as it should have.
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Counted {
    /// In a scenario.
    pub fn judged(self, scenario: &'static str) -> Verdict {
        Verdict {
            scenario,
            effect: self.effect.to_owned(),
            expected: Some(self.expected),
            seen: Some(self.seen),
            ok: self.expected == self.seen,
            error: None,
        }
    }
}

impl Verdict {
    /// Of a scenario that could not be played to its end.
    pub fn broken(scenario: &'static str, error: &str) -> Self {
        let effect = "-".to_owned();
        Self { scenario, effect, expected: None, seen: None, ok: false, error: Some(error.to_owned()) }
    }
}

/// For people.
pub fn table(verdicts: &[Verdict]) -> String {
    let mut text = format!("{:<32} {:<20} {:>8} {:>5}  {}\n", "scenario", "effect", "expected", "seen", "verdict");
    for verdict in verdicts {
        let number = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let word = match (&verdict.error, verdict.ok) {
            (Some(error), _) => error.as_str(),
            (None, true) => "ok",
            (None, false) => "WRONG",
        };
        let (expected, seen) = (number(verdict.expected), number(verdict.seen));
        let _ = writeln!(text, "{:<32} {:<20} {expected:>8} {seen:>5}  {word}", verdict.scenario, verdict.effect);
    }
    let wrong = verdicts.iter().filter(|verdict| !verdict.ok).count();
    let _ = write!(text, "{} effects counted, {wrong} wrong", verdicts.len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_number_is_wrong_and_is_shown() {
        let counted = |seen| Counted { effect: "charge", expected: 1, seen };
        let verdicts =
            [counted(1).judged("a"), counted(2).judged("b"), counted(0).judged("c"), Verdict::broken("d", "late")];
        assert_eq!(verdicts.iter().map(|verdict| verdict.ok).collect::<Vec<_>>(), [true, false, false, false]);
        let text = table(&verdicts);
        assert!(text.ends_with("4 effects counted, 3 wrong") && text.matches("WRONG").count() == 2, "{text}");
    }
}

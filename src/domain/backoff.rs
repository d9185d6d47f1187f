//! How long to wait before trying again.

use time::Duration;

/// Full jitter: a random wait between nothing and the capped exponential, so that clients that failed together do not
/// come back together (AWS Architecture Blog, "Exponential Backoff And Jitter", 2015). `attempt` counts from 1; `random` is
/// in `0.0 .. 1.0`.
#[must_use]
pub fn full_jitter(base: Duration, cap: Duration, attempt: u32, random: f64) -> Duration {
    let doublings = attempt.saturating_sub(1).min(30);
    let longest = base.checked_mul(1 << doublings).unwrap_or(cap).min(cap);
    longest * random.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap() {
        let wait = |attempt| full_jitter(Duration::seconds(1), Duration::seconds(10), attempt, 1.0);
        let seconds: Vec<_> = [1, 2, 3, 4, 5, 100, u32::MAX].map(|attempt| wait(attempt).whole_seconds()).into();
        assert_eq!(seconds, [1, 2, 4, 8, 10, 10, 10]);
        assert_eq!(full_jitter(Duration::seconds(1), Duration::seconds(10), 3, 0.0), Duration::ZERO);
    }

    #[test]
    fn chance_shortens_a_wait_and_never_makes_it_longer_or_negative() {
        for (random, seconds) in [(0.25, 1), (0.5, 2), (0.75, 3), (1.0, 4), (7.0, 4), (-1.0, 0)] {
            let wait = full_jitter(Duration::seconds(1), Duration::seconds(10), 3, random);
            assert_eq!(wait, Duration::seconds(seconds), "{random}");
        }
        assert_eq!(full_jitter(Duration::MAX, Duration::seconds(10), 31, 1.0), Duration::seconds(10));
    }
}

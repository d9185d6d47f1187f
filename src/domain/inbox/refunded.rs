//! How much of a payment was given back, from all that was told of it. A pure function of a set: the order in which it was
//! told makes no difference.
//!
//! There are two books. The sum over refunds misses those of which no notification came; the cumulative figure of the charge
//! misses the newest. So it is the larger of the two, never their sum.

use std::collections::BTreeMap;

/// A refund that we asked for and that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// The key that we asked with.
    pub key: String,
    /// The provider's name for it, if we know it.
    pub id: Option<String>,
    /// In the same unit as all other amounts.
    pub amount: i64,
}

/// What one notification told of one refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The provider's name for it.
    pub id: String,
    /// Our key, if it is one of ours.
    pub key: Option<String>,
    /// In the provider's words.
    pub status: String,
    /// How much.
    pub amount: i64,
    /// When it was made, in seconds since 1970.
    pub made_at: Option<i64>,
    /// When this was told, in seconds since 1970.
    pub told_at: Option<i64>,
}

/// The cumulative figure of the charge at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// How much.
    pub amount: i64,
    /// When it was told, in seconds since 1970.
    pub told_at: Option<i64>,
}

/// Whether a refund that stands like this gave nothing back, for good.
#[must_use]
pub fn has_failed(status: &str) -> bool {
    matches!(status, "failed" | "canceled")
}

/// One refund, all that was told of it together.
#[derive(Default)]
struct Refund {
    amount: i64,
    succeeded: bool,
    made_at: Option<i64>,
    failed: bool,
    /// When that was first told, in seconds since 1970.
    failed_at: Option<i64>,
}

/// How much was given back, by the larger book; more than there was to give if that was told. Wide enough for any sum.
#[must_use]
pub fn refunded(own: &[Own], told: &[Told], totals: &[Total]) -> i128 {
    let mut refunds = BTreeMap::<&str, Refund>::new();
    for each in told {
        let refund = refunds.entry(&each.id).or_default();
        refund.amount = each.amount;
        refund.made_at = refund.made_at.or(each.made_at);
        refund.succeeded |= each.status == "succeeded";
        if has_failed(&each.status) {
            refund.failed = true;
            refund.failed_at = [refund.failed_at, each.told_at].into_iter().flatten().min();
        }
    }
    for each in own {
        let by_key = told.iter().find(|told| told.key.as_ref() == Some(&each.key)).map(|told| told.id.as_str());
        let refund = refunds.entry(by_key.or(each.id.as_deref()).unwrap_or(&each.key)).or_default();
        refund.amount = each.amount;
        refund.succeeded = true;
    }
    let stands = |refund: &&Refund| refund.succeeded && !refund.failed;
    let sum: i128 = refunds.values().filter(stands).map(|refund| i128::from(refund.amount)).sum();
    let of_total = |total: &Total| i128::from(total.amount) - failed_since(&refunds, *total);
    sum.max(totals.iter().map(of_total).max().unwrap_or_default()).max(0)
}

/// What a cumulative figure still counted and what failed after it.
fn failed_since(refunds: &BTreeMap<&str, Refund>, total: Total) -> i128 {
    let counted = |refund: &&Refund| match (refund.made_at, total.told_at, refund.failed_at) {
        (Some(made), Some(told), Some(failed)) => made <= told && told < failed,
        _ => false,
    };
    refunds.values().filter(counted).map(|refund| i128::from(refund.amount)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(id: &str, status: &str, amount: i64, told_at: i64) -> Told {
        let (made_at, told_at) = (Some(1), Some(told_at));
        Told { id: id.to_owned(), key: None, status: status.to_owned(), amount, made_at, told_at }
    }

    fn total(amount: i64, at: i64) -> Total {
        Total { amount, told_at: Some(at) }
    }

    fn own(key: &str, id: Option<&str>, amount: i64) -> Own {
        Own { key: key.to_owned(), id: id.map(str::to_owned), amount }
    }

    #[test]
    fn the_larger_of_the_two_books_and_never_their_sum() {
        let ok = |id, amount| told(id, "succeeded", amount, 1);
        for (own, told, totals, expected) in [
            (vec![], vec![ok("re_1", 2), ok("re_2", 3), ok("re_1", 2)], vec![], 5),
            (vec![], vec![], vec![total(2, 1), total(5, 2)], 5),
            (vec![], vec![], vec![total(5, 2), total(2, 1)], 5),
            (vec![], vec![ok("re_1", 2)], vec![total(2, 1)], 2),
            (vec![], vec![ok("re_1", 2)], vec![total(5, 1)], 5),
            (vec![], vec![ok("re_1", 2), ok("re_2", 3)], vec![total(2, 1)], 5),
            (vec![], vec![told("re_1", "pending", 2, 1)], vec![], 0),
            (vec![own("k", Some("re_1"), 2)], vec![ok("re_1", 2)], vec![total(2, 1)], 2),
            (vec![own("k", None, 2)], vec![Told { key: Some("k".to_owned()), ..ok("re_1", 2) }], vec![], 2),
            (vec![own("k", None, 2)], vec![], vec![], 2),
            (vec![own("k", Some("re_2"), 2)], vec![ok("re_1", 3)], vec![], 5),
            (vec![], vec![ok("re_1", 900)], vec![], 900),
            (vec![], vec![ok("re_1", i64::MAX), ok("re_2", i64::MAX)], vec![], 2 * i128::from(i64::MAX)),
        ] {
            assert_eq!(refunded(&own, &told, &totals), expected, "{own:?} {told:?} {totals:?}");
        }
    }

    #[test]
    fn a_refund_that_failed_gave_nothing_back() {
        let failed = told("re_1", "failed", 2, 9);
        let ok = told("re_1", "succeeded", 2, 1);
        assert_eq!(refunded(&[], &[ok.clone(), failed.clone()], &[]), 0);
        assert_eq!(refunded(&[], &[failed.clone(), ok.clone()], &[total(2, 1)]), 0);
        assert_eq!(refunded(&[], std::slice::from_ref(&failed), &[total(5, 1)]), 3);
        // Told after it had failed: it is not in it.
        assert_eq!(refunded(&[], std::slice::from_ref(&failed), &[total(5, 9)]), 5);
        assert_eq!(refunded(&[own("k", Some("re_1"), 2)], &[failed], &[]), 0);
    }

    #[test]
    fn a_refund_that_was_cancelled_gave_nothing_back_either() {
        for (status, failed) in [("failed", true), ("canceled", true), ("pending", false), ("succeeded", false)] {
            assert_eq!(has_failed(status), failed, "{status}");
        }
        let cancelled = told("re_1", "canceled", 2, 9);
        assert_eq!(refunded(&[], &[told("re_1", "succeeded", 2, 1), cancelled.clone()], &[total(5, 1)]), 3);
        assert_eq!(refunded(&[own("k", Some("re_1"), 2)], &[cancelled], &[]), 0);
    }

    #[test]
    fn a_total_counts_a_failed_refund_only_if_it_was_told_between_its_making_and_its_failure() {
        let failed = |made_at, told_at| Told { made_at, told_at, ..told("re_1", "failed", 2, 0) };
        for (made_at, failed_at, told_at, expected) in [
            (Some(4), Some(9), Some(3), 5),
            (Some(4), Some(9), Some(4), 3),
            (Some(4), Some(9), Some(8), 3),
            (Some(4), Some(9), Some(9), 5),
            (None, Some(9), Some(8), 5),
            (Some(4), None, Some(8), 5),
            (Some(4), Some(9), None, 5),
        ] {
            let total = Total { amount: 5, told_at };
            assert_eq!(refunded(&[], &[failed(made_at, failed_at)], &[total]), expected, "{made_at:?} {total:?}");
        }
        // The first word of its failure counts, in whatever order it is told.
        let (early, late) = (failed(Some(4), Some(6)), failed(Some(4), Some(9)));
        for told in [[early.clone(), late.clone()], [late, early]] {
            assert_eq!(refunded(&[], &told, &[total(5, 5)]), 3);
            assert_eq!(refunded(&[], &told, &[total(5, 7)]), 5);
        }
        // Of less than it gave back nothing is left, and never less than nothing.
        assert_eq!(refunded(&[], &[failed(Some(4), Some(9))], &[total(1, 5)]), 0);
    }
}

//! Where two JSON values differ, as pointers only.
//!
//! A client that reuses a key for another request is told which members changed;
//! the stored request's values are never revealed, so none may appear here.

use crate::domain::json::{Json, pointer_push};
use std::borrow::Cow;

/// The most pointers that [`differing`] returns.
pub const MAX_POINTERS: usize = 100;

/// RFC 6901 pointers of the deepest members that were added, removed or changed
/// between `first` and `second`, sorted bytewise, at most [`MAX_POINTERS`].
///
/// Empty exactly when both have the same
/// [`canonical`](crate::domain::canonical::canonical) text. Objects are compared by
/// name whatever their order, arrays by index; two values of different types differ
/// as a whole, and `""` stands for the root. When more differ than fit, those first
/// in the order of names and indexes are kept, and the walk stops there.
///
/// Recurses as deep as the values, which [`parse`](crate::domain::json::parse) bounds.
#[must_use]
pub fn differing(first: &Json<'_>, second: &Json<'_>) -> Vec<String> {
    let mut walk = Walk { pointer: String::new(), found: Vec::new() };
    walk.compare(Some(first), Some(second));
    walk.found.sort_unstable();
    walk.found
}

struct Walk {
    /// Of the values being compared. One buffer, so that a name is copied once on
    /// the way down rather than once for every value below it.
    pointer: String,
    found: Vec<String>,
}

impl Walk {
    /// Compares two values at the current pointer; `None` is an absent one.
    fn compare(&mut self, first: Option<&Json<'_>>, second: Option<&Json<'_>>) {
        match (first, second) {
            (Some(Json::Object(first)), Some(Json::Object(second))) => {
                self.compare_objects(first, second);
            }
            (Some(Json::Array(first)), Some(Json::Array(second))) => {
                for index in 0..first.len().max(second.len()) {
                    self.descend(&index.to_string(), first.get(index), second.get(index));
                }
            }
            // Both are scalars or of different types, so that `==` is cheap and the
            // order of members cannot matter.
            _ if first != second => self.found.push(self.pointer.clone()),
            _ => {}
        }
    }

    /// Walks both objects in the order of their names, like a merge of sorted lists.
    fn compare_objects(&mut self, first: &[Member<'_>], second: &[Member<'_>]) {
        let mut first = sorted_by_name(first).into_iter().peekable();
        let mut second = sorted_by_name(second).into_iter().peekable();
        while let Some(name) = [first.peek(), second.peek()].into_iter().flatten().map(|(name, _)| name.as_ref()).min()
        {
            let left = first.next_if(|(other, _)| other == name);
            let right = second.next_if(|(other, _)| other == name);
            self.descend(name, left.map(|(_, v)| v), right.map(|(_, v)| v));
        }
    }

    fn descend(&mut self, token: &str, first: Option<&Json<'_>>, second: Option<&Json<'_>>) {
        if self.found.len() >= MAX_POINTERS {
            return;
        }
        let length = self.pointer.len();
        pointer_push(&mut self.pointer, token);
        self.compare(first, second);
        self.pointer.truncate(length);
    }
}

type Member<'a> = (Cow<'a, str>, Json<'a>);

fn sorted_by_name<'a, 'b>(members: &'b [Member<'a>]) -> Vec<&'b Member<'a>> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::json::parse;

    fn pointers(first: &str, second: &str) -> Vec<String> {
        differing(&parse(first.as_bytes()).unwrap(), &parse(second.as_bytes()).unwrap())
    }

    #[test]
    fn equal_but_for_order_and_spelling() {
        let first = r#"{"a": 1, "b": [{"x": "\u0041", "y": 1.0}]}"#;
        let second = r#"{"b": [{"y": 1e0, "x": "A"}], "a": 10e-1}"#;
        assert_eq!(pointers(first, second), [""; 0]);
    }

    #[test]
    fn the_deepest_members_are_named() {
        let first = r#"{"amount": 1, "customer": {"email": "a", "reference": "r"}, "lines": [{"sku": "A"}]}"#;
        let second = r#"{"amount": 2, "customer": {"email": "b", "reference": "r"}, "lines": [{"sku": "B"}]}"#;
        assert_eq!(pointers(first, second), ["/amount", "/customer/email", "/lines/0/sku"]);
    }

    #[test]
    fn added_removed_and_changed_types() {
        assert_eq!(
            pointers(r#"{"a": null, "b": {}, "c": 1}"#, r#"{"b": [], "c": "1", "d": {"e": 1}}"#),
            ["/a", "/b", "/c", "/d"]
        );
        assert_eq!(pointers("[0]", "[0, 1, [2]]"), ["/1", "/2"]);
        assert_eq!(pointers("[0, 1, [2]]", "[]"), ["/0", "/1", "/2"]);
        assert_eq!(pointers("{}", r#"{"": 1, "a/b~": 2}"#), ["/", "/a~1b~0"]);
    }

    #[test]
    fn the_root_as_a_whole() {
        assert_eq!(pointers("1", "2"), [""]);
        assert_eq!(pointers("{}", "[]"), [""]);
        assert_eq!(pointers("9007199254740993", "9007199254740992"), [""]);
    }

    #[test]
    fn at_most_one_hundred_and_the_walk_stops() {
        let zeros = format!("[{}0]", "0,".repeat(99_999));
        let ones = format!("[{}1]", "1,".repeat(99_999));
        let found = pointers(&zeros, &ones);
        assert_eq!(found.len(), MAX_POINTERS);
        assert!(found.is_sorted());
        assert!(found.contains(&"/0".to_owned()) && found.contains(&"/99".to_owned()));
    }

    #[test]
    fn long_names_are_not_copied_for_every_value_below_them() {
        let body = |value: &str| {
            let name = "n".repeat(100_000);
            format!("{{\"{name}\": [{}{value}]}}", "7,".repeat(60_000))
        };
        assert_eq!(pointers(&body("1"), &body("2")).len(), 1);
    }
}

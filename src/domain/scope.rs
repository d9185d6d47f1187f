//! What an API key may do.

use crate::domain::org::spelled;

/// One permission. A key holds a set of them; none implies another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Read orders and idempotency keys.
    OrdersRead,
    /// Create orders.
    OrdersWrite,
    /// Decide reconciliation cases.
    Reconcile,
    /// Administer the organisation.
    Admin,
}

spelled!(Scope {
    OrdersRead = "orders:read",
    OrdersWrite = "orders:write",
    Reconcile = "reconcile",
    Admin = "admin",
});

/// A set of scopes in one byte, since it is looked at on every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u8);

impl Scopes {
    /// Whether the set holds `scope`.
    #[must_use]
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u8) != 0
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |set, scope| set | (1 << scope as u8)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in_and_nothing_else() {
        let set: Scopes = [Scope::OrdersRead, Scope::Reconcile].into_iter().collect();
        assert!(set.contains(Scope::OrdersRead) && set.contains(Scope::Reconcile));
        assert!(!set.contains(Scope::OrdersWrite) && !set.contains(Scope::Admin));
    }

    #[test]
    fn every_spelling_is_read_back() {
        for text in Scope::ALL {
            assert_eq!(Scope::parse(text).map(Scope::as_str), Some(*text));
        }
        assert_eq!(Scope::parse("orders"), None);
    }

    #[test]
    fn each_scope_is_one_of_its_own_however_often_it_is_named() {
        let all: Vec<_> = Scope::ALL.iter().filter_map(|text| Scope::parse(text)).collect();
        for scope in &all {
            let set: Scopes = [*scope, *scope].into_iter().collect();
            let held: Vec<_> = all.iter().filter(|other| set.contains(**other)).collect();
            assert_eq!(held, [scope]);
        }
        assert!(!all.into_iter().any(|scope| Scopes::default().contains(scope)));
    }
}

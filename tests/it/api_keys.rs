//! Authentication, revocation, last use.

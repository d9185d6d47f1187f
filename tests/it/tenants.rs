//! Organisations never meet; policies; scopes.

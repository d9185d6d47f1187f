//! Migrations and the golden schema.

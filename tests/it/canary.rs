//! No secret, SQL, parameter or connection string in any answer or log.

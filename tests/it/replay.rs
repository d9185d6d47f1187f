//! What a retry gets: bytes, headers, status, expiry.

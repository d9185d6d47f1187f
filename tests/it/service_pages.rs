//! Health, readiness, metrics, documentation pages, CORS.

//! The real program: kill -9, SIGTERM, dev, two instances.

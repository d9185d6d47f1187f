//! Requests at the same time: storms on one key, two servers, races for one order reference.

//! Every rule of the order body.

//! Every statement: prepared, listed, naming its organisation, using its index.

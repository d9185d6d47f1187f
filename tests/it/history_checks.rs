//! Can the history checker see? For every invariant it is shown small histories by hand: good ones, of which it may say
//! nothing, and bad ones, each of which it has to name.

mod books;
mod effects;
mod files;
mod key_histories;
mod registers;
mod told;

//! Weighted choices.

use rand::Rng;
use rand::rngs::StdRng;

/// A weight, and how to make what is chosen.
pub type Choice<T> = (u32, fn(&mut StdRng) -> T);

/// One of them, each as often as its weight says; `None` of nothing.
pub fn choose<T>(choices: &[Choice<T>], random: &mut StdRng) -> Option<T> {
    let all: u32 = choices.iter().map(|(weight, _)| weight).sum();
    let mut place = random.random_range(0..all.max(1));
    for (weight, make) in choices {
        if place < *weight {
            return Some(make(random));
        }
        place -= weight;
    }
    None
}

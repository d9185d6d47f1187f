//! Choices that an input itself makes, so that the same input always meets the same ones.

/// A source of arbitrary choices (xorshift).
pub struct Choices(u64);

impl Choices {
    /// Those of an input (FNV-1a).
    pub fn of(data: &[u8]) -> Self {
        let hash = data
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        // Zero would stay zero.
        Self(hash.max(1))
    }

    /// One of the numbers below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    /// Changes the order of some things.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }
}

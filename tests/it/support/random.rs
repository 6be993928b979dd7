//! Pseudo-random numbers from a printed seed.

/// SplitMix64: small, and good enough to choose test cases with.
pub struct Random(u64);

impl Random {
    /// Seeded from `VERILANE_TEST_SEED` if set, else from the clock. Prints the seed, which a failing test shows.
    pub fn from_environment(test: &str) -> Self {
        let seed = std::env::var("VERILANE_TEST_SEED").map_or_else(
            |_| {
                let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
                since_epoch.as_nanos() as u64
            },
            |text| text.parse().expect("VERILANE_TEST_SEED is a decimal number"),
        );
        println!("{test}: VERILANE_TEST_SEED={seed}");
        Self(seed)
    }

    /// The numbers of a seed.
    #[allow(dead_code, reason = "the tests take the seed from the environment, the example from its command line")]
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next().to_le_bytes()[0]).collect()
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }
}

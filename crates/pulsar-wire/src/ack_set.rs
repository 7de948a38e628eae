//! Which members of a batch are still open, as it stands in a message id.

/// A set of batch indexes in the words of Java's `BitSet`: bit `i % 64` of word `i / 64`, zero
/// words at the end left out. On the wire a set bit is a member that is **not** acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AckSet {
    words: Vec<i64>,
}

impl AckSet {
    /// The set of all indexes below `count`. Takes an eighth of `count` in bytes, so check one
    /// that was received before.
    #[must_use]
    pub fn full(count: u32) -> Self {
        let mut words = vec![-1; count.div_ceil(64) as usize];
        if let (Some(last), bits @ 1..) = (words.last_mut(), count % 64) {
            *last = low_bits(bits);
        }
        Self { words }
    }

    /// The set that these words hold.
    #[must_use]
    pub fn from_words(words: Vec<i64>) -> Self {
        let mut set = Self { words };
        set.trim();
        set
    }

    /// The words for the wire.
    #[must_use]
    pub fn words(&self) -> &[i64] {
        &self.words
    }

    /// The words for the wire.
    #[must_use]
    pub fn into_words(self) -> Vec<i64> {
        self.words
    }

    /// Whether `index` is in the set.
    #[must_use]
    pub fn is_set(&self, index: u32) -> bool {
        self.words
            .get(index as usize / 64)
            .is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// How many indexes below `count` are in the set.
    #[must_use]
    pub fn count_within(&self, count: u32) -> u32 {
        let whole = count as usize / 64;
        let mask = low_bits(count % 64);
        let full: u32 = self.words.iter().take(whole).map(|word| word.count_ones()).sum();
        full + self.words.get(whole).map_or(0, |word| (word & mask).count_ones())
    }

    /// Takes `index` out of the set.
    pub fn clear(&mut self, index: u32) {
        if let Some(word) = self.words.get_mut(index as usize / 64) {
            *word &= !(1 << (index % 64));
            self.trim();
        }
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

fn low_bits(count: u32) -> i64 {
    ((1_u64 << count) - 1) as i64
}

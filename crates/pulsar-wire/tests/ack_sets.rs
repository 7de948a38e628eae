//! Sets of batch indexes, as Java's `BitSet` has them.

use proptest::prelude::*;
use pulsar_wire::AckSet;

#[test]
fn a_full_set_has_every_index_below_its_count() {
    for count in [0, 1, 63, 64, 65, 127, 128, 130] {
        let set = AckSet::full(count);
        assert_eq!(set.words().len(), count.div_ceil(64) as usize);
        assert_eq!(set.count_within(count), count);
        assert_eq!(set.count_within(count + 200), count);
        assert!((0..count).all(|index| set.is_set(index)));
        assert!(!set.is_set(count));
    }
}

#[test]
fn words_are_those_of_java() {
    // BitSet: 0 to 129 set, then 1, 128 and 129 cleared.
    let mut set = AckSet::full(130);
    for index in [1, 128, 129] {
        set.clear(index);
    }
    assert_eq!(set.words(), [-3, -1]);
}

#[test]
fn a_set_is_empty_once_all_are_cleared() {
    let mut set = AckSet::full(70);
    for index in 0..70 {
        assert!(!set.is_empty());
        set.clear(index);
    }
    assert!(set.is_empty());
    assert_eq!(set.into_words(), Vec::<i64>::new());
}

#[test]
fn indexes_outside_are_neither_set_nor_an_error() {
    let mut set = AckSet::full(3);
    set.clear(u32::MAX);
    assert!(!set.is_set(u32::MAX));
    assert_eq!(set.count_within(u32::MAX), 3);
}

proptest! {
    #[test]
    fn counting_is_what_looking_at_each_gives(words in prop::collection::vec(any::<i64>(), 0..4), count in 0_u32..300) {
        let set = AckSet::from_words(words);
        let each = (0..count).filter(|index| set.is_set(*index)).count();
        prop_assert_eq!(set.count_within(count) as usize, each);
    }
}

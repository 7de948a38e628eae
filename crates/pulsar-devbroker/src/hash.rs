//! The hash behind keys and consumers' names.

/// Murmur3, 32 bits, seed 0, as in Pulsar: without the sign bit.
pub(crate) fn murmur3(bytes: &[u8]) -> u32 {
    const C1: u32 = 0xcc9e_2d51;
    const C2: u32 = 0x1b87_3593;
    let mix = |block: u32| block.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);

    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = 0_u32;
    for block in blocks {
        hash ^= mix(u32::from_le_bytes(*block));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let rest = tail
        .iter()
        .rev()
        .fold(0_u32, |word, byte| (word << 8) | u32::from(*byte));
    if !tail.is_empty() {
        hash ^= mix(rest);
    }
    hash ^= bytes.len() as u32;
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    hash ^= hash >> 16;
    hash & 0x7fff_ffff
}

/// Where a key or a point lies on the ring: 1..=65535.
pub(crate) fn ring_slot(hash: u32) -> u32 {
    hash % 65_535 + 1
}

/// Where a key lies among the ranges that consumers chose for themselves. Nothing lies at 0, as in Pulsar.
pub(crate) fn range_slot(hash: u32) -> u32 {
    (hash % 65_536).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_are_met() {
        assert_eq!(murmur3(b""), 0);
        assert_eq!(murmur3(b"hello"), 0x248b_fa47);
        assert_eq!(murmur3(b"hello, world"), 0x149b_bb7f);
    }
}

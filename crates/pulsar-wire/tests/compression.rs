//! Codecs: round trips, and metadata that lies about the size.

use bytes::Bytes;
use proptest::prelude::*;
use pulsar_wire::compression::{Codec, CompressionErrorKind, compress, decompress};

const CODECS: [Codec; 4] = [Codec::Lz4, Codec::Zlib, Codec::Zstd, Codec::Snappy];
const CAP: usize = 1024 * 1024;

#[test]
fn a_large_payload_and_an_empty_one_come_back() {
    let large: Vec<u8> = (0..CAP).map(|at| (at * at / 7) as u8).collect();
    for codec in CODECS {
        for payload in [&[][..], &large] {
            let compressed = compress(codec, payload).unwrap();
            assert_eq!(
                decompress(codec, &compressed, payload.len(), CAP).unwrap(),
                payload,
                "{codec}"
            );
        }
    }
}

#[test]
fn another_size_than_announced_is_refused() {
    let payload = b"an order, an order, an order, an order";
    for codec in CODECS {
        let compressed = compress(codec, payload).unwrap();
        for size in [0, 1, payload.len() - 1, payload.len() + 1, CAP] {
            assert!(
                decompress(codec, &compressed, size, CAP).is_err(),
                "{codec} {size}"
            );
        }
    }
}

#[test]
fn a_size_over_the_cap_is_refused_first() {
    for codec in CODECS {
        let error = decompress(codec, &Bytes::new(), usize::MAX, CAP).unwrap_err();
        assert_eq!(
            error.kind(),
            CompressionErrorKind::TooLarge {
                size: usize::MAX,
                cap: CAP
            }
        );
        assert_eq!(error.codec(), codec);
    }
}

#[test]
fn a_bomb_yields_no_more_than_announced() {
    let bomb = vec![0; 64 * CAP];
    for codec in CODECS {
        let compressed = compress(codec, &bomb).unwrap();
        assert!(decompress(codec, &compressed, 100, CAP).is_err(), "{codec}");
    }
}

#[test]
fn a_payload_cut_short_is_refused() {
    let payload: Vec<u8> = (0..5000_u32).flat_map(|at| (at * at).to_be_bytes()).collect();
    for codec in CODECS {
        let compressed = compress(codec, &payload).unwrap();
        let half = compressed.slice(..compressed.len() / 2);
        assert!(decompress(codec, &half, payload.len(), CAP).is_err(), "{codec}");
    }
}

#[test]
fn without_a_codec_the_payload_stays_as_it_is() {
    let payload = Bytes::from_static(b"an order");
    let same = decompress(Codec::None, &payload, 0, 0).unwrap();
    assert_eq!(same.as_ptr(), payload.as_ptr());
    assert_eq!(compress(Codec::None, &payload).unwrap(), payload);
}

#[test]
fn an_unknown_codec_is_named() {
    let codec = Codec::from_i32(9);
    assert_eq!((codec, codec.number()), (Codec::Unknown(9), 9));
    let error = decompress(codec, &Bytes::new(), 0, CAP).unwrap_err();
    assert_eq!(error.kind(), CompressionErrorKind::UnknownCodec);
    assert_eq!(error.to_string(), "unknown codec 9");
    assert!(compress(codec, b"").is_err());
}

#[test]
fn numbers_are_those_of_the_metadata() {
    for number in 0..5 {
        assert_eq!(Codec::from_i32(number).number(), number);
    }
    assert_eq!(Codec::from_i32(4), Codec::Snappy);
}

fn any_codec() -> impl Strategy<Value = Codec> {
    prop::sample::select(CODECS.to_vec())
}

proptest! {
    #[test]
    fn any_payload_comes_back(codec in any_codec(), payload in prop::collection::vec(any::<u8>(), 0..2000)) {
        let compressed = compress(codec, &payload).unwrap();
        prop_assert_eq!(decompress(codec, &compressed, payload.len(), CAP).unwrap(), payload);
    }

    #[test]
    fn any_bytes_are_refused_or_have_the_size(
        codec in any_codec(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        size in 0_usize..1000,
    ) {
        if let Ok(payload) = decompress(codec, &bytes.into(), size, CAP) {
            prop_assert_eq!(payload.len(), size);
        }
    }
}

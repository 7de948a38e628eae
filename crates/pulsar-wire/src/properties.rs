//! Properties as they stand in metadata, written by hand: every message has some, and they take most of the time that
//! writing its metadata takes.

use bytes::{BufMut, BytesMut};
use prost::encoding::{encode_varint, encoded_len_varint};

use crate::proto::KeyValue;

/// The tags of a property's two fields.
const KEY: u8 = 1 << 3 | 2;
const VALUE: u8 = 2 << 3 | 2;

/// What one byte holds of a length.
const SHORT: usize = 0x80;

/// How many bytes the properties take as the repeated field with this number, which is below 16.
pub(crate) fn properties_len(properties: &[KeyValue]) -> usize {
    properties
        .iter()
        .map(|property| {
            let length = property_len(property);
            1 + varint_len(length) + length
        })
        .sum()
}

/// Writes the properties as the repeated field with this number, which is below 16.
pub(crate) fn put_properties(field: u8, properties: &[KeyValue], out: &mut BytesMut) {
    for property in properties {
        let (key, value) = (&property.key, &property.value);
        let length = property_len(property);
        let tag = field << 3 | 2;
        if length < SHORT {
            // Then the lengths inside are short too.
            out.put_slice(&[tag, short(length), KEY, short(key.len())]);
            out.put_slice(key);
            out.put_slice(&[VALUE, short(value.len())]);
            out.put_slice(value);
        } else {
            out.put_u8(tag);
            encode_varint(length as u64, out);
            for (tag, bytes) in [(KEY, key), (VALUE, value)] {
                out.put_u8(tag);
                encode_varint(bytes.len() as u64, out);
                out.put_slice(bytes);
            }
        }
    }
}

fn property_len(property: &KeyValue) -> usize {
    let (key, value) = (property.key.len(), property.value.len());
    2 + varint_len(key) + key + varint_len(value) + value
}

fn varint_len(length: usize) -> usize {
    if length < SHORT {
        1
    } else {
        encoded_len_varint(length as u64)
    }
}

/// A length below 128 as its one byte.
fn short(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::proto::SingleMessageMetadata;

    #[test]
    fn properties_of_every_length_are_written_as_the_derived_code_writes_them() {
        let lengths = [0, 1, 60, 61, 62, 63, 122, 123, 124, 127, 128, 300, 20_000];
        for key in lengths {
            for value in lengths {
                let metadata = SingleMessageMetadata {
                    properties: vec![
                        KeyValue {
                            key: vec![b'k'; key].into(),
                            value: vec![0xff; value].into(),
                        };
                        2
                    ],
                    ..SingleMessageMetadata::default()
                };
                let derived = metadata.encode_to_vec();
                let mut ours = BytesMut::new();
                put_properties(1, &metadata.properties, &mut ours);
                let properties = ours.len();
                assert_eq!(properties, properties_len(&metadata.properties), "{key}, {value}");
                assert!(derived.starts_with(&ours), "{key}, {value}");
                // Behind them is only the required size.
                assert_eq!(derived.len(), properties + 2);
            }
        }
    }
}

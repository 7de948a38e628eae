//! Properties as they stand in metadata, read and written by hand: every message has some, and they take most of the time
//! that its metadata takes.

use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{encode_varint, encoded_len_varint};
use prost::{DecodeError, Message};

use crate::field::{Fields, Value};
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

/// Metadata whose properties are the repeated field with this number. They share the memory of `bytes`.
///
/// # Errors
/// The bytes are no metadata.
pub(crate) fn decode<M: Message + Default>(
    field: u8,
    bytes: &Bytes,
    properties: impl FnOnce(&mut M) -> &mut Vec<KeyValue>,
) -> Result<M, DecodeError> {
    let Some(run) = Run::find(field, bytes) else {
        return M::decode(bytes.clone());
    };
    let mut metadata = M::decode(bytes.slice(..run.range.start))?;
    if run.range.end < bytes.len() {
        metadata.merge(bytes.slice(run.range.end..))?;
    }
    *properties(&mut metadata) = run.properties;
    Ok(metadata)
}

/// Properties that stand one behind the other, as every client writes them.
struct Run {
    range: Range<usize>,
    properties: Vec<KeyValue>,
}

impl Run {
    /// None where there are no properties, or where anything about them is not as usual.
    fn find(field: u8, bytes: &Bytes) -> Option<Self> {
        let mut run: Option<Self> = None;
        let mut fields = Fields::new(bytes);
        loop {
            let start = fields.position();
            let Some(next) = fields.next() else { return run };
            let next = next.ok()?;
            if next.number != u64::from(field) {
                continue;
            }
            let Value::Bytes(range) = next.value else {
                return None;
            };
            let property = property(bytes, range)?;
            let end = fields.position();
            match &mut run {
                None => {
                    let mut properties = Vec::with_capacity(8);
                    properties.push(property);
                    run = Some(Self {
                        range: start..end,
                        properties,
                    });
                }
                Some(run) if run.range.end == start => {
                    run.properties.push(property);
                    run.range.end = end;
                }
                Some(_) => return None,
            }
        }
    }
}

fn property(bytes: &Bytes, range: Range<usize>) -> Option<KeyValue> {
    let at = |inner: Range<usize>| bytes.slice(range.start + inner.start..range.start + inner.end);
    let mut fields = Fields::new(bytes.get(range.clone())?);
    let mut take = |number: u64| match fields.next()?.ok()? {
        field if field.number == number => match field.value {
            Value::Bytes(inner) => Some(at(inner)),
            _ => None,
        },
        _ => None,
    };
    let (key, value) = (take(1)?, take(2)?);
    fields.next().is_none().then_some(KeyValue { key, value })
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
    use super::*;
    use crate::proto::SingleMessageMetadata;

    fn read(bytes: &[u8]) -> Result<SingleMessageMetadata, DecodeError> {
        let bytes = Bytes::copy_from_slice(bytes);
        let ours = decode(1, &bytes, |metadata: &mut SingleMessageMetadata| {
            &mut metadata.properties
        });
        assert_eq!(ours, SingleMessageMetadata::decode(bytes));
        ours
    }

    #[test]
    fn properties_are_read_as_the_derived_code_reads_them_wherever_they_stand() {
        let metadata = |count: usize| SingleMessageMetadata {
            properties: (0..count)
                .map(|number| KeyValue {
                    key: format!("key-{number}").into(),
                    value: vec![0xff; number * 100].into(),
                })
                .collect(),
            partition_key: Some("k".into()),
            payload_size: 7,
            sequence_id: Some(9),
            ..SingleMessageMetadata::default()
        };
        for count in [0, 1, 2, 20] {
            let bytes = metadata(count).encode_to_vec();
            assert_eq!(read(&bytes).unwrap(), metadata(count));
            // In the middle of other fields, and in two places.
            for part in [metadata(0), metadata(2)] {
                let bytes = [part.encode_to_vec(), bytes.clone(), part.encode_to_vec()].concat();
                read(&bytes).unwrap();
            }
            for end in 0..bytes.len() {
                let _ = read(&bytes[..end]);
            }
        }
    }

    #[test]
    fn odd_properties_are_read_as_the_derived_code_reads_them() {
        let odd: [&[u8]; 8] = [
            // Empty; only a key; only a value; value first; a key twice; an unknown field; a number as key; cut short.
            &[10, 0],
            &[10, 3, 10, 1, b'k'],
            &[10, 3, 18, 1, b'v'],
            &[10, 6, 18, 1, b'v', 10, 1, b'k'],
            &[10, 9, 10, 1, b'a', 10, 1, b'b', 18, 1, b'v'],
            &[10, 8, 10, 1, b'k', 18, 1, b'v', 24, 1],
            &[10, 5, 8, 1, 18, 1, b'v'],
            &[10, 9, 10, 1, b'k', 18, 1],
        ];
        for bytes in odd {
            let _ = read(bytes);
        }
    }

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

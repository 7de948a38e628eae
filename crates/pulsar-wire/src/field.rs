//! Protobuf fields one by one, for what is read without a struct: the command's envelope, commands of an unknown kind, and
//! properties.

use std::ops::Range;

/// The fields of one encoded structure. Ends with an error, once, where the bytes make no sense.
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

pub(crate) struct Field {
    pub(crate) number: u64,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Varint(u64),
    /// Where the contents of a length-delimited field are.
    Bytes(Range<usize>),
    Fixed,
}

#[derive(Debug)]
pub(crate) struct Malformed;

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where the next field begins.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    fn read(&mut self) -> Option<Field> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.skip(8).map(|_| Value::Fixed)?,
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Value::Bytes(self.skip(length)?)
            }
            5 => self.skip(4).map(|_| Value::Fixed)?,
            _ => return None,
        };
        Some(Field {
            number: key >> 3,
            value,
        })
    }

    fn skip(&mut self, length: usize) -> Option<Range<usize>> {
        let end = self
            .at
            .checked_add(length)
            .filter(|end| *end <= self.bytes.len())?;
        let range = self.at..end;
        self.at = end;
        Some(range)
    }

    fn varint(&mut self) -> Option<u64> {
        // Most have one byte.
        if let Some(byte) = self.bytes.get(self.at).filter(|byte| **byte < 0x80) {
            self.at += 1;
            return Some(u64::from(*byte));
        }
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

impl Iterator for Fields<'_> {
    type Item = Result<Field, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let field = self.read();
        if field.is_none() {
            self.at = self.bytes.len();
        }
        Some(field.ok_or(Malformed))
    }
}

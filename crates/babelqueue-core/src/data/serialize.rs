//! A `serde::Serializer` that writes JSON text by the rules of the wire format.
//!
//! serde_json's own writes NaN as `null` and lets features of other crates in the build change how
//! numbers are spelled; the wire format allows neither.

mod compound;
mod text;

use serde::Serialize;
use serde::ser::{self, Serializer};

use super::Data;
use crate::error::{EnvelopeError, EnvelopeErrorKind as Kind};
use crate::json::{self, put_integer, put_string};
use compound::{Compound, Struct};

/// How serde_json marks text that it wants written verbatim. `RawValue` and, with the feature
/// `arbitrary_precision`, `Number` reach any serializer as a struct of this name with one field.
const RAW_VALUE: &str = "$serde_json::private::RawValue";
const NUMBER: &str = "$serde_json::private::Number";

pub(super) fn to_data<T: Serialize + ?Sized>(value: &T) -> Result<Data, EnvelopeError> {
    let mut writer = Writer {
        out: Vec::with_capacity(128),
        depth: 0,
        deepest: 0,
    };
    value.serialize(&mut writer)?;
    let text = String::from_utf8(writer.out).map_err(|_| unserializable("text that is not UTF-8"))?;
    Ok(Data {
        text,
        depth: writer.deepest,
    })
}

fn unserializable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> EnvelopeError {
    EnvelopeError::new(Kind::DataUnserializable).because(source)
}

impl ser::Error for EnvelopeError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        unserializable(message.to_string())
    }
}

struct Writer {
    out: Vec<u8>,
    depth: usize,
    deepest: usize,
}

impl Writer {
    fn open(&mut self, bracket: u8) -> Result<(), EnvelopeError> {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        // Also bounds the stack: a value that nests deeper would be poison for its consumers.
        if self.depth > json::MAX_DEPTH {
            return Err(EnvelopeError::new(Kind::TooDeep));
        }
        self.out.push(bracket);
        Ok(())
    }

    fn close(&mut self, bracket: u8) {
        self.depth -= 1;
        self.out.push(bracket);
    }

    /// Opens an externally tagged variant: `{"name":`.
    fn open_variant(&mut self, name: &str) -> Result<(), EnvelopeError> {
        self.open(b'{')?;
        put_string(&mut self.out, name);
        self.out.push(b':');
        Ok(())
    }

    fn float(&mut self, finite: bool, text: &str) -> Result<(), EnvelopeError> {
        if !finite {
            return Err(EnvelopeError::new(Kind::NonFiniteNumber));
        }
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn verbatim(&mut self, text: &str, number: bool) -> Result<(), EnvelopeError> {
        let data = Data::from_json(text)?;
        if number && json::shape(text.as_bytes()).is_ok_and(|shape| shape.kind != json::Kind::Number) {
            return Err(unserializable("a number that is not a JSON number"));
        }
        self.deepest = self.deepest.max(self.depth + data.depth());
        if self.deepest > json::MAX_DEPTH {
            return Err(EnvelopeError::new(Kind::TooDeep));
        }
        self.out.extend_from_slice(data.as_json().as_bytes());
        Ok(())
    }

    fn compound(&mut self, close: &'static [u8]) -> Compound<'_> {
        Compound {
            writer: self,
            empty: true,
            close,
        }
    }
}

macro_rules! integers {
    ($($method:ident $type:ty),*) => {$(
        fn $method(self, value: $type) -> Result<(), EnvelopeError> {
            put_integer(&mut self.out, value.into());
            Ok(())
        }
    )*};
}

macro_rules! wide_integers {
    ($($method:ident $type:ty),*) => {$(
        fn $method(self, value: $type) -> Result<(), EnvelopeError> {
            self.out.extend_from_slice(value.to_string().as_bytes());
            Ok(())
        }
    )*};
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = EnvelopeError;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Struct<'a>;
    type SerializeStructVariant = Compound<'a>;

    integers!(serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_u8 u8, serialize_u16 u16, serialize_u32 u32);
    wide_integers!(serialize_u64 u64, serialize_i128 i128, serialize_u128 u128);

    fn serialize_bool(self, value: bool) -> Result<(), EnvelopeError> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), EnvelopeError> {
        self.float(value.is_finite(), &format!("{value:?}"))
    }

    fn serialize_f64(self, value: f64) -> Result<(), EnvelopeError> {
        self.float(value.is_finite(), &format!("{value:?}"))
    }

    fn serialize_char(self, value: char) -> Result<(), EnvelopeError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), EnvelopeError> {
        put_string(&mut self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), EnvelopeError> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), EnvelopeError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), EnvelopeError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), EnvelopeError> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), EnvelopeError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), EnvelopeError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), EnvelopeError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), EnvelopeError> {
        self.open_variant(variant)?;
        value.serialize(&mut *self)?;
        self.close(b'}');
        Ok(())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Compound<'a>, EnvelopeError> {
        self.open(b'[')?;
        Ok(self.compound(b"]"))
    }

    fn serialize_tuple(self, _len: usize) -> Result<Compound<'a>, EnvelopeError> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Compound<'a>, EnvelopeError> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, EnvelopeError> {
        self.open_variant(variant)?;
        self.open(b'[')?;
        Ok(self.compound(b"]}"))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Compound<'a>, EnvelopeError> {
        self.open(b'{')?;
        Ok(self.compound(b"}"))
    }

    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Struct<'a>, EnvelopeError> {
        match name {
            RAW_VALUE | NUMBER => Ok(Struct::Verbatim {
                writer: self,
                number: name == NUMBER,
            }),
            _ => self.serialize_map(None).map(Struct::Object),
        }
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, EnvelopeError> {
        self.open_variant(variant)?;
        self.open(b'{')?;
        Ok(self.compound(b"}}"))
    }
}

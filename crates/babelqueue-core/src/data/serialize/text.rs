//! Serializers that take text and nothing else: for map keys and for verbatim carriers.

use serde::Serialize;
use serde::ser::{Impossible, Serializer};

use super::{Writer, unserializable};
use crate::error::EnvelopeError;

/// Refuses everything but what the surrounding impl writes itself.
macro_rules! refuse {
    ($error:expr; $($method:ident $type:ty),*) => {
        $(fn $method(self, _value: $type) -> Result<(), EnvelopeError> {
            Err(unserializable($error))
        })*

        fn serialize_none(self) -> Result<(), EnvelopeError> {
            Err(unserializable($error))
        }

        fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), EnvelopeError> {
            value.serialize(self)
        }

        fn serialize_unit(self) -> Result<(), EnvelopeError> {
            Err(unserializable($error))
        }

        fn serialize_unit_struct(self, _: &'static str) -> Result<(), EnvelopeError> {
            Err(unserializable($error))
        }

        fn serialize_newtype_struct<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            value: &T,
        ) -> Result<(), EnvelopeError> {
            value.serialize(self)
        }

        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<(), EnvelopeError> {
            Err(unserializable($error))
        }

        fn serialize_seq(self, _: Option<usize>) -> Result<Never, EnvelopeError> {
            Err(unserializable($error))
        }

        fn serialize_tuple(self, _: usize) -> Result<Never, EnvelopeError> {
            Err(unserializable($error))
        }

        fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Never, EnvelopeError> {
            Err(unserializable($error))
        }

        fn serialize_tuple_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Never, EnvelopeError> {
            Err(unserializable($error))
        }

        fn serialize_map(self, _: Option<usize>) -> Result<Never, EnvelopeError> {
            Err(unserializable($error))
        }

        fn serialize_struct(self, _: &'static str, _: usize) -> Result<Never, EnvelopeError> {
            Err(unserializable($error))
        }

        fn serialize_struct_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Never, EnvelopeError> {
            Err(unserializable($error))
        }

        type Ok = ();
        type Error = EnvelopeError;
        type SerializeSeq = Never;
        type SerializeTuple = Never;
        type SerializeTupleStruct = Never;
        type SerializeTupleVariant = Never;
        type SerializeMap = Never;
        type SerializeStruct = Never;
        type SerializeStructVariant = Never;
    };
}

type Never = Impossible<(), EnvelopeError>;

/// Writes a map key.
pub(super) struct Key<'a>(pub(super) &'a mut Writer);

impl Serializer for Key<'_> {
    refuse!("map keys must be strings, characters or unit variants";
        serialize_bool bool, serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_i128 i128, serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64,
        serialize_u128 u128, serialize_f32 f32, serialize_f64 f64, serialize_bytes &[u8]);

    fn serialize_char(self, value: char) -> Result<(), EnvelopeError> {
        self.0.serialize_char(value)
    }

    fn serialize_str(self, value: &str) -> Result<(), EnvelopeError> {
        self.0.serialize_str(value)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), EnvelopeError> {
        self.0.serialize_str(variant)
    }
}

/// Hands the text of a verbatim carrier on.
pub(super) struct Text<F>(pub(super) F);

impl<F: FnOnce(&str) -> Result<(), EnvelopeError>> Serializer for Text<F> {
    refuse!("verbatim JSON must be text";
        serialize_bool bool, serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_i128 i128, serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64,
        serialize_u128 u128, serialize_f32 f32, serialize_f64 f64, serialize_bytes &[u8],
        serialize_char char);

    fn serialize_str(self, value: &str) -> Result<(), EnvelopeError> {
        self.0(value)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
    ) -> Result<(), EnvelopeError> {
        Err(unserializable("verbatim JSON must be text"))
    }
}

//! Arrays and objects: elements, members, and what closes them.

use serde::Serialize;
use serde::ser;

use super::Writer;
use super::text::{Key, Text};
use crate::error::EnvelopeError;
use crate::json::put_string;

/// An array or an object that is being written, with what closes it.
pub(super) struct Compound<'a> {
    pub(super) writer: &'a mut Writer,
    pub(super) empty: bool,
    pub(super) close: &'static [u8],
}

impl Compound<'_> {
    fn separate(&mut self) {
        if !self.empty {
            self.writer.out.push(b',');
        }
        self.empty = false;
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EnvelopeError> {
        self.separate();
        value.serialize(&mut *self.writer)
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), EnvelopeError> {
        self.separate();
        put_string(&mut self.writer.out, name);
        self.writer.out.push(b':');
        value.serialize(&mut *self.writer)
    }

    fn finish(self) {
        for &bracket in self.close {
            self.writer.close(bracket);
        }
    }
}

macro_rules! elements {
    ($($trait:ident $method:ident),*) => {$(
        impl ser::$trait for Compound<'_> {
            type Ok = ();
            type Error = EnvelopeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EnvelopeError> {
                self.element(value)
            }

            fn end(self) -> Result<(), EnvelopeError> {
                self.finish();
                Ok(())
            }
        }
    )*};
}

elements!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

impl ser::SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = EnvelopeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), EnvelopeError> {
        self.separate();
        key.serialize(Key(&mut *self.writer))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EnvelopeError> {
        self.writer.out.push(b':');
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), EnvelopeError> {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeStructVariant for Compound<'_> {
    type Ok = ();
    type Error = EnvelopeError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), EnvelopeError> {
        self.member(name, value)
    }

    fn end(self) -> Result<(), EnvelopeError> {
        self.finish();
        Ok(())
    }
}

/// A struct: an object, or one of serde_json's carriers of verbatim text.
pub(super) enum Struct<'a> {
    Object(Compound<'a>),
    Verbatim { writer: &'a mut Writer, number: bool },
}

impl ser::SerializeStruct for Struct<'_> {
    type Ok = ();
    type Error = EnvelopeError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), EnvelopeError> {
        match self {
            Self::Object(object) => object.member(name, value),
            Self::Verbatim { writer, number } => {
                let number = *number;
                value.serialize(Text(|text: &str| writer.verbatim(text, number)))
            }
        }
    }

    fn end(self) -> Result<(), EnvelopeError> {
        if let Self::Object(object) = self {
            object.finish();
        }
        Ok(())
    }
}

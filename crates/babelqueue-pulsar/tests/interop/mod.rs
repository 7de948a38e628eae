//! BabelQueue for Python on the other end of a topic, in both directions.

mod dead_letters;
mod messages;
mod values;

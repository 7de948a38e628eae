//! What can go wrong with an envelope: one opaque error per operation, each with a kind.
//!
//! No text here holds any content of a body; causes end up in logs and dead letters.

use std::error::Error;
use std::fmt;

/// Why a body could not be decoded (`docs/wire-format.md`, Poison).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    kind: DecodeErrorKind,
    offset: Option<usize>,
    what: &'static str,
    pointer: Option<&'static str>,
    attempts: Option<i64>,
}

/// The rule a body failed, in the order in which they are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// P1: the bytes are not UTF-8.
    NotUtf8,
    /// P2: the text is not exactly one JSON value.
    NotJson,
    /// P3: arrays and objects are nested too deeply.
    TooDeep,
    /// P4: the root is not an object.
    NotAnObject,
    /// P5: a string holds half of a surrogate pair.
    UnpairedSurrogate,
    /// P6: a known member has a wrong type.
    WrongType,
    /// P7: neither `job` nor `urn` is a non-blank string.
    NoIdentity,
}

impl DecodeError {
    pub(crate) fn new(kind: DecodeErrorKind, what: &'static str) -> Self {
        Self {
            kind,
            offset: None,
            what,
            pointer: None,
            attempts: None,
        }
    }

    pub(crate) fn at(self, offset: usize) -> Self {
        Self {
            offset: Some(offset),
            ..self
        }
    }

    pub(crate) fn of(self, pointer: &'static str) -> Self {
        Self {
            pointer: Some(pointer),
            ..self
        }
    }

    pub(crate) fn with_attempts(self, attempts: Option<i64>) -> Self {
        Self { attempts, ..self }
    }

    /// The rule that failed.
    #[must_use]
    pub fn kind(&self) -> DecodeErrorKind {
        self.kind
    }

    /// The rule's number, `P1` to `P7`.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        match self.kind {
            DecodeErrorKind::NotUtf8 => "P1",
            DecodeErrorKind::NotJson => "P2",
            DecodeErrorKind::TooDeep => "P3",
            DecodeErrorKind::NotAnObject => "P4",
            DecodeErrorKind::UnpairedSurrogate => "P5",
            DecodeErrorKind::WrongType => "P6",
            DecodeErrorKind::NoIdentity => "P7",
        }
    }

    /// The byte at which the fault was found, when it has a place.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.offset
    }

    /// The JSON pointer of the member with a wrong type.
    #[must_use]
    pub fn pointer(&self) -> Option<&'static str> {
        self.pointer
    }

    /// The body's last `attempts`, when the root was readable and it is an integer.
    pub(crate) fn attempts(&self) -> Option<i64> {
        self.attempts
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            DecodeErrorKind::NotJson => write!(f, "not exactly one JSON value: {}", self.what)?,
            _ => match self.pointer {
                Some(pointer) => write!(f, "{pointer} {}", self.what)?,
                None => f.write_str(self.what)?,
            },
        }
        match self.offset {
            Some(offset) => write!(f, " at byte {offset}"),
            None => Ok(()),
        }
    }
}

impl Error for DecodeError {}

/// The first check of a consumer that an envelope failed (`docs/wire-format.md`, Accepting).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NotAccepted {
    /// The identity is blank.
    MissingUrn,
    /// `meta` is absent or null.
    MissingMeta,
    /// `meta.schema_version` is not 1.
    UnsupportedSchemaVersion,
    /// `data` is not an object.
    InvalidData,
    /// `trace_id` is absent, null or blank.
    MissingTraceId,
    /// `attempts` is absent or null.
    InvalidAttempts,
}

impl NotAccepted {
    /// The check's name, the same in every SDK.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::MissingUrn => "missing_urn",
            Self::MissingMeta => "missing_meta",
            Self::UnsupportedSchemaVersion => "unsupported_schema_version",
            Self::InvalidData => "invalid_data",
            Self::MissingTraceId => "missing_trace_id",
            Self::InvalidAttempts => "invalid_attempts",
        }
    }
}

impl fmt::Display for NotAccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an acceptable envelope: {}", self.reason())
    }
}

impl Error for NotAccepted {}

/// Why an envelope, or data for one, could not be made or written.
#[derive(Debug)]
pub struct EnvelopeError {
    kind: EnvelopeErrorKind,
    pointer: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What was wrong with an envelope that was to be made or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EnvelopeErrorKind {
    /// The URN is blank.
    EmptyUrn,
    /// A member name is reserved or forbidden; the pointer names it.
    EnvelopeKey,
    /// The data does not serialize to a JSON object.
    DataNotObject,
    /// The data holds a number that is not finite as a double.
    NonFiniteNumber,
    /// The data cannot be written as JSON; the source says why.
    DataUnserializable,
    /// The text is not exactly one JSON value.
    NotJson,
    /// Arrays and objects are nested deeper than a consumer reads.
    TooDeep,
}

impl EnvelopeError {
    pub(crate) fn new(kind: EnvelopeErrorKind) -> Self {
        Self {
            kind,
            pointer: None,
            source: None,
        }
    }

    pub(crate) fn key(pointer: impl Into<String>) -> Self {
        Self {
            pointer: Some(pointer.into()),
            ..Self::new(EnvelopeErrorKind::EnvelopeKey)
        }
    }

    pub(crate) fn because(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            source: Some(source.into()),
            ..self
        }
    }

    /// What was wrong.
    #[must_use]
    pub fn kind(&self) -> EnvelopeErrorKind {
        self.kind
    }

    /// The JSON pointer of the member that is reserved or forbidden.
    #[must_use]
    pub fn pointer(&self) -> Option<&str> {
        self.pointer.as_deref()
    }
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            EnvelopeErrorKind::EmptyUrn => f.write_str("the URN is blank"),
            EnvelopeErrorKind::EnvelopeKey => {
                write!(
                    f,
                    "{} cannot be set in an envelope",
                    self.pointer.as_deref().unwrap_or_default()
                )
            }
            EnvelopeErrorKind::DataNotObject => f.write_str("the data is not a JSON object"),
            EnvelopeErrorKind::NonFiniteNumber => f.write_str("the data holds a number that is not finite"),
            EnvelopeErrorKind::DataUnserializable => f.write_str("the data cannot be written as JSON"),
            EnvelopeErrorKind::NotJson => f.write_str("the text is not exactly one JSON value"),
            EnvelopeErrorKind::TooDeep => f.write_str("the data is nested too deeply"),
        }
    }
}

impl Error for EnvelopeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// Why an envelope's data could not be read as the wanted type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataError {
    mismatch: Option<String>,
}

/// What was wrong with data that was to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataErrorKind {
    /// The envelope has no data.
    Absent,
    /// The data is not of the wanted type; the text says where, and what was expected.
    Mismatch,
}

impl DataError {
    pub(crate) fn absent() -> Self {
        Self { mismatch: None }
    }

    pub(crate) fn mismatch(error: &serde_json::Error) -> Self {
        Self {
            mismatch: Some(without_content(error)),
        }
    }

    /// What was wrong.
    #[must_use]
    pub fn kind(&self) -> DataErrorKind {
        if self.mismatch.is_some() {
            DataErrorKind::Mismatch
        } else {
            DataErrorKind::Absent
        }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.mismatch {
            None => f.write_str("the envelope has no data"),
            Some(what) => write!(f, "the data is not of the type that the handler reads: {what}"),
        }
    }
}

impl Error for DataError {}

/// serde's text with its place and without the value that it quotes, which is personal data as like as
/// not. A text that is not serde's own could quote anything and is left out.
fn without_content(error: &serde_json::Error) -> String {
    const QUOTING: [&str; 5] = [
        "invalid type: ",
        "invalid value: ",
        "invalid length ",
        "unknown field ",
        "unknown variant ",
    ];
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let text = text.strip_suffix(&*place).unwrap_or(&text);
    // These name a field of the handler's type.
    if text.starts_with("missing field ") || text.starts_with("duplicate field ") {
        return format!("{text}{place}");
    }
    match text.rsplit_once(", expected ") {
        Some((found, expected)) if QUOTING.iter().any(|own| found.starts_with(own)) => {
            let kind = found.split(['"', '`']).next().unwrap_or_default().trim_end();
            format!("{kind}, expected {expected}{place}")
        }
        _ => format!("a value that the type refuses{place}"),
    }
}

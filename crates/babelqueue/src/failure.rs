//! What a handler says when it could not do its work. Any error turns into a [`Failure`] by `?`.

use std::any::type_name;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use babelqueue_core::Cause;

/// A handler's failure: the text and the type name that a dead-letter record will carry.
///
/// It deliberately does not implement [`Error`], which is what makes `?` work on every error type.
///
/// ```
/// use babelqueue::Failure;
///
/// fn parse(text: &str) -> Result<u32, Failure> {
///     Ok(text.parse()?)
/// }
///
/// let failure = parse("three").unwrap_err();
/// assert_eq!(failure.error(), "invalid digit found in string");
/// assert_eq!(failure.exception(), Some("core::num::error::ParseIntError"));
/// ```
#[derive(Clone, Debug)]
pub struct Failure {
    error: String,
    exception: Option<Cow<'static, str>>,
}

impl Failure {
    /// A failure that is only a text. It ends up in the dead-letter record, so keep personal data out.
    pub fn new(text: impl fmt::Display) -> Self {
        Self {
            error: text.to_string(),
            exception: None,
        }
    }

    /// The text of the cause.
    #[must_use]
    pub fn error(&self) -> &str {
        &self.error
    }

    /// The type name of the error this failure was made of.
    #[must_use]
    pub fn exception(&self) -> Option<&str> {
        self.exception.as_deref()
    }

    pub(crate) fn into_cause(self) -> Cause {
        Cause {
            error: self.error,
            exception: self.exception,
        }
    }
}

/// Takes the error's text with its whole chain of sources (`a: b`) and its type name.
impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            error: chain(&error),
            exception: Some(Cow::Borrowed(type_name::<E>())),
        }
    }
}

/// The text of an error with those of its sources: `a: b`.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("no amount")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn the_text_names_the_whole_chain_of_sources() {
        let failure = Failure::from(Outer("x".parse::<u8>().unwrap_err()));
        assert_eq!(failure.error(), "no amount: invalid digit found in string");
    }

    #[test]
    fn the_type_name_is_captured_from_the_error() {
        let failure = Failure::from(Outer("x".parse::<u8>().unwrap_err()));
        assert!(failure.exception().unwrap().ends_with("::Outer"));
    }

    #[test]
    fn a_text_alone_has_no_type_name() {
        let failure = Failure::new("probe offline");
        assert_eq!((failure.error(), failure.exception()), ("probe offline", None));
    }
}

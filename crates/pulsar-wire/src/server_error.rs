//! The codes with which a broker refuses.

use std::fmt;

macro_rules! server_errors {
    ($($(#[$doc:meta])* $variant:ident = $code:literal,)+) => {
        /// Why a broker refused. What to do about it is the client's decision.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ServerError {
            $($(#[$doc])* $variant,)+
            /// A code that this crate does not know.
            Unknown(i32),
        }

        impl ServerError {
            /// The error with this code.
            #[must_use]
            pub fn from_i32(code: i32) -> Self {
                match code {
                    $($code => Self::$variant,)+
                    _ => Self::Unknown(code),
                }
            }

            /// The code on the wire.
            #[must_use]
            pub fn code(self) -> i32 {
                match self {
                    $(Self::$variant => $code,)+
                    Self::Unknown(code) => code,
                }
            }

            /// The error's name in the protocol.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)+
                    Self::Unknown(_) => "Unknown",
                }
            }
        }
    };
}

server_errors! {
    /// Something the broker has no code for.
    UnknownError = 0,
    /// The metadata store failed, or a request did not fit its state.
    MetadataError = 1,
    /// Storage failed.
    PersistenceError = 2,
    /// The credentials were refused.
    AuthenticationError = 3,
    /// The credentials do not allow this.
    AuthorizationError = 4,
    /// Other consumers stand in the way.
    ConsumerBusy = 5,
    /// Look the topic up again and retry.
    ServiceNotReady = 6,
    /// The backlog quota is used up; the producer is to wait.
    ProducerBlockedQuotaExceededError = 7,
    /// The backlog quota is used up; the producer is to fail.
    ProducerBlockedQuotaExceededException = 8,
    /// The message does not match its checksum.
    ChecksumError = 9,
    /// The peer's protocol version lacks what is needed.
    UnsupportedVersionError = 10,
    /// There is no such topic.
    TopicNotFound = 11,
    /// There is no such subscription.
    SubscriptionNotFound = 12,
    /// There is no such consumer.
    ConsumerNotFound = 13,
    /// Too many requests at once.
    TooManyRequests = 14,
    /// The topic takes no more messages.
    TopicTerminatedError = 15,
    /// A producer of this name is connected.
    ProducerBusy = 16,
    /// The topic's name is not valid.
    InvalidTopicName = 17,
    /// The schema does not fit the topic's.
    IncompatibleSchema = 18,
    /// The consumer could not be given its keys.
    ConsumerAssignError = 19,
    /// There is no such transaction coordinator.
    TransactionCoordinatorNotFound = 20,
    /// The transaction's state does not allow this.
    InvalidTxnStatus = 21,
    /// Not allowed here.
    NotAllowedError = 22,
    /// Another transaction acknowledged the message.
    TransactionConflict = 23,
    /// There is no such transaction.
    TransactionNotFound = 24,
    /// Another producer took the topic for itself.
    ProducerFenced = 25,
}

impl From<ServerError> for i32 {
    fn from(error: ServerError) -> Self {
        error.code()
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(code) => write!(f, "Unknown({code})"),
            _ => f.write_str(self.name()),
        }
    }
}

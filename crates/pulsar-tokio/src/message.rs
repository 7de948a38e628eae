//! Messages as users see them: what is sent, what arrives, and what settles it.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use pulsar_wire::proto::KeyValue;

/// Where a message is stored.
///
/// `Display` writes `ledger:entry:partition:index`, as Pulsar's own tools do; the partition is -1
/// for a topic without partitions and the index is -1 outside a batch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The ledger of the entry.
    pub ledger: u64,
    /// The entry within the ledger; a batch is one entry.
    pub entry: u64,
    /// The partition of the topic, or -1.
    pub partition: i32,
    /// The place within a batch, or -1.
    pub batch_index: i32,
}

impl MessageId {
    /// The id as text, without the detour over a formatter: a worker needs one for every message.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = Vec::with_capacity(32);
        put_number(&mut text, self.ledger, false);
        for (number, is_negative) in [
            (self.entry, false),
            (u64::from(self.partition.unsigned_abs()), self.partition < 0),
            (u64::from(self.batch_index.unsigned_abs()), self.batch_index < 0),
        ] {
            text.push(b':');
            put_number(&mut text, number, is_negative);
        }
        String::from_utf8(text).unwrap_or_default()
    }
}

fn put_number(text: &mut Vec<u8>, mut number: u64, is_negative: bool) {
    let mut digits = [b'0'; 21];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] += u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
        if number == 0 {
            break;
        }
    }
    if is_negative {
        at -= 1;
        digits[at] = b'-';
    }
    text.extend_from_slice(&digits[at..]);
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The routing key of a message, exactly as it travels.
///
/// A key made of arbitrary bytes travels as Base64 text with a mark beside it. Both are kept, since
/// a message that is published again without the mark would hash elsewhere.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// The text on the wire.
    pub text: Bytes,
    /// True when `text` is the Base64 form of the key's bytes.
    pub base64: bool,
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Self {
            text: text.into(),
            base64: false,
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("text", &Hidden(&self.text))
            .field("base64", &self.base64)
            .finish()
    }
}

/// A message to be sent.
///
/// ```
/// # use pulsar_tokio::NewMessage;
/// let message = NewMessage::new("hello").property("lang", "rust").key("order-7");
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct NewMessage {
    pub(crate) payload: Bytes,
    pub(crate) properties: Vec<KeyValue>,
    pub(crate) key: Option<Key>,
    pub(crate) ordering_key: Option<Bytes>,
    pub(crate) deliver_at_ms: Option<i64>,
    pub(crate) event_time_ms: Option<u64>,
}

impl NewMessage {
    /// A message with this payload and nothing else.
    pub fn new(payload: impl Into<Bytes>) -> Self {
        Self {
            payload: payload.into(),
            ..Self::default()
        }
    }

    /// Adds a property. Keys and values are bytes, so that what came from elsewhere can be passed on.
    pub fn property(mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        self.properties.push(KeyValue {
            key: key.into(),
            value: value.into(),
        });
        self
    }

    /// Adds many properties.
    pub fn properties(mut self, pairs: impl IntoIterator<Item = (Bytes, Bytes)>) -> Self {
        let pairs = pairs.into_iter().map(|(key, value)| KeyValue { key, value });
        if self.properties.is_empty() {
            // A vector of pairs becomes one of properties where it stands.
            self.properties = pairs.collect();
        } else {
            self.properties.extend(pairs);
        }
        self
    }

    /// Sets the routing key: it picks the partition, and the consumer on `Key_Shared`.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the key that `Key_Shared` uses instead of the routing key.
    pub fn ordering_key(mut self, key: impl Into<Bytes>) -> Self {
        self.ordering_key = Some(key.into());
        self
    }

    /// Holds the message back until this time (Unix, milliseconds). Brokers do so on `Shared` and
    /// `Key_Shared` subscriptions only.
    pub fn deliver_at_ms(mut self, at: i64) -> Self {
        self.deliver_at_ms = Some(at);
        self
    }

    /// States when what the message tells happened (Unix, milliseconds).
    pub fn event_time_ms(mut self, at: u64) -> Self {
        self.event_time_ms = Some(at);
        self
    }
}

impl fmt::Debug for NewMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewMessage")
            .field("payload", &Hidden(&self.payload))
            .field("properties", &self.properties)
            .field("key", &self.key)
            .field("ordering_key", &self.ordering_key.as_deref().map(Hidden))
            .field("deliver_at_ms", &self.deliver_at_ms)
            .field("event_time_ms", &self.event_time_ms)
            .finish()
    }
}

/// The broker's confirmation that a message is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// Where; none when the broker recognised a repeated transmission of a message it already had.
    pub id: Option<MessageId>,
}

/// What arrived: a payload, or the reason why there is none.
#[derive(Clone)]
pub enum Payload {
    /// The payload as it was sent.
    Bytes(Bytes),
    /// The entry cannot be decoded. It settles like any other delivery.
    Undecodable {
        /// The bytes as they were received.
        received: Bytes,
        /// What is wrong with them.
        cause: Undecodable,
    },
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(payload) => f.debug_tuple("Bytes").field(&Hidden(payload)).finish(),
            Self::Undecodable { received, cause } => f
                .debug_struct("Undecodable")
                .field("received", &Hidden(received))
                .field("cause", cause)
                .finish(),
        }
    }
}

/// Why an entry cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undecodable {
    /// The checksum does not match the bytes.
    Checksum,
    /// The metadata cannot be read.
    Metadata,
    /// The payload is encrypted, which this client does not decrypt.
    Encrypted,
    /// The payload cannot be decompressed.
    Compression(String),
    /// A batch cannot be cut into its messages.
    Batch(String),
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checksum => f.write_str("the checksum does not match"),
            Self::Metadata => f.write_str("the metadata cannot be read"),
            Self::Encrypted => f.write_str("the payload is encrypted"),
            Self::Compression(why) => write!(f, "the payload cannot be decompressed: {why}"),
            Self::Batch(why) => write!(f, "the batch cannot be cut: {why}"),
        }
    }
}

/// What settles one delivery; see [`Consumer::ack`](crate::Consumer::ack).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub(crate) part: u32,
    pub(crate) key: EntryKey,
    /// The place within the entry, 0 outside a batch.
    pub(crate) index: u32,
    /// How many messages the entry holds.
    pub(crate) of: u32,
    /// True when this delivery stands for all that follows in its entry too: the rest of a batch
    /// that could not be cut.
    pub(crate) rest: bool,
    /// The session whose permits this delivery was charged to.
    pub(crate) session: u32,
}

/// One entry of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryKey {
    pub(crate) ledger: u64,
    pub(crate) entry: u64,
}

/// A delivery.
#[derive(Clone)]
#[non_exhaustive]
pub struct Message {
    /// The topic it came from: the partition, where there are partitions.
    pub topic: Arc<str>,
    /// The topic that this is a partition of, else the same.
    pub base_topic: Arc<str>,
    /// Where it is stored.
    pub id: MessageId,
    /// What settles it.
    pub ticket: Ticket,
    /// The payload.
    pub payload: Payload,
    /// The properties in the order in which they came.
    pub properties: Vec<(Bytes, Bytes)>,
    /// The routing key.
    pub key: Option<Key>,
    /// The key that `Key_Shared` goes by when there is one.
    pub ordering_key: Option<Bytes>,
    /// How often the broker was asked to deliver it again (`Shared` and `Key_Shared` only).
    pub redelivery_count: u32,
    /// When it was published (Unix, milliseconds).
    pub publish_time_ms: u64,
    /// When it was to be delivered (Unix, milliseconds), if the producer said so.
    pub deliver_at_ms: Option<i64>,
    /// When what it tells happened (Unix, milliseconds), if the producer said so.
    pub event_time_ms: Option<u64>,
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let properties: Vec<_> = self.properties.iter().map(|(name, _)| name).collect();
        f.debug_struct("Message")
            .field("topic", &self.topic)
            .field("id", &self.id)
            .field("ticket", &self.ticket)
            .field("payload", &self.payload)
            .field("properties", &properties)
            .field("key", &self.key)
            .field("ordering_key", &self.ordering_key.as_deref().map(Hidden))
            .field("redelivery_count", &self.redelivery_count)
            .field("publish_time_ms", &self.publish_time_ms)
            .field("deliver_at_ms", &self.deliver_at_ms)
            .field("event_time_ms", &self.event_time_ms)
            .finish()
    }
}

/// Content of which `Debug` shows only the length, since debug texts end up in logs.
struct Hidden<'a>(&'a [u8]);

impl fmt::Debug for Hidden<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} bytes>", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER: &str = "s3cret";

    fn assert_hides(value: &impl fmt::Debug) {
        for text in [format!("{value:?}"), format!("{value:#?}")] {
            assert!(!text.contains(MARKER) && text.contains("<6 bytes>"), "{text}");
        }
    }

    fn message(payload: Payload) -> Message {
        Message {
            topic: "orders".into(),
            base_topic: "orders".into(),
            id: MessageId {
                ledger: 1,
                entry: 2,
                partition: -1,
                batch_index: -1,
            },
            ticket: Ticket {
                part: 0,
                key: EntryKey { ledger: 1, entry: 2 },
                index: 0,
                of: 1,
                rest: false,
                session: 0,
            },
            payload,
            properties: vec![("note".into(), MARKER.into())],
            key: Some(MARKER.into()),
            ordering_key: Some(MARKER.into()),
            redelivery_count: 0,
            publish_time_ms: 0,
            deliver_at_ms: None,
            event_time_ms: None,
        }
    }

    #[test]
    fn ids_are_written_as_pulsars_own_tools_write_them() {
        let id = |ledger, entry, partition, batch_index| MessageId {
            ledger,
            entry,
            partition,
            batch_index,
        };
        for (id, text) in [
            (id(0, 10, -1, -1), "0:10:-1:-1"),
            (id(907, 0, 2, 99), "907:0:2:99"),
            (
                id(u64::MAX, u64::MAX, i32::MIN, i32::MAX),
                "18446744073709551615:18446744073709551615:-2147483648:2147483647",
            ),
        ] {
            assert_eq!((id.to_text(), id.to_string()), (text.to_owned(), text.to_owned()));
        }
    }

    #[test]
    fn debug_texts_hide_payloads_keys_and_values_of_properties() {
        assert_hides(&Key::from(MARKER));
        let sent = || {
            NewMessage::new(MARKER)
                .property("note", MARKER)
                .key(MARKER)
                .ordering_key(MARKER)
        };
        assert_hides(&sent());
        assert_hides(&crate::Full(sent()));
        let undecodable = Payload::Undecodable {
            received: MARKER.into(),
            cause: Undecodable::Encrypted,
        };
        for payload in [Payload::Bytes(MARKER.into()), undecodable] {
            assert_hides(&payload);
            assert_hides(&message(payload));
        }
    }
}

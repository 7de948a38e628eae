//! The poison record: a body nobody could read, kept byte for byte (`docs/wire-format.md`, Poison record).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::DeadLetter;
use crate::json::{self, Kind, MAX_DEPTH, Scanner, Sink, put_string};

/// The dead-letter form of a poison body.
///
/// An object takes the block as one more member; anything else is wrapped as text, or as base64
/// when it is not UTF-8. [`restore`](super::restore) gives the body back.
///
/// ```
/// use babelqueue_core::dead_letter::{DeadLetter, Reason, poison_record};
///
/// let block = DeadLetter::new(Reason::Poison, "orders", 1, 1_790_000_000_000);
/// let record = poison_record(br#"{"order_id":7}"#, &block);
/// assert!(record.starts_with(br#"{"order_id":7,"dead_letter":{"reason":"poison""#));
/// ```
#[must_use]
pub fn poison_record(body: &[u8], block: &DeadLetter) -> Bytes {
    match (std::str::from_utf8(body), is_spliceable(body)) {
        (Ok(_), true) => splice(json::trim(body), block),
        (Ok(text), false) => wrap(text, block),
        (Err(_), _) => undecodable_record(body, block),
    }
}

/// The dead-letter form of an entry that could not be turned into a body: its bytes in base64.
#[must_use]
pub fn undecodable_record(received: &[u8], block: &DeadLetter) -> Bytes {
    let text = STANDARD.encode(received);
    let mut record = with_room(text.len());
    record.put(b"{\"raw\":\"");
    record.put(text.as_bytes());
    record.put(b"\",\"raw_encoding\":\"base64\"");
    close(record, block)
}

/// One strict JSON object within the limits and without a `dead_letter` of its own.
fn is_spliceable(body: &[u8]) -> bool {
    let mut scanner = Scanner::new(body);
    let mut has_block = false;
    let scanned = scanner.start().and_then(|kind| {
        if kind != Kind::Object {
            return Ok(false);
        }
        scanner.members(|scanner, name| {
            has_block |= *name.unescaped(scanner.text()) == *b"dead_letter";
            scanner.value().map(drop)
        })?;
        scanner.finish()?;
        Ok(true)
    });
    scanned == Ok(true) && !has_block && scanner.deepest() <= MAX_DEPTH && scanner.lone_surrogate().is_none()
}

fn splice(object: &[u8], block: &DeadLetter) -> Bytes {
    let open = object.strip_suffix(b"}").unwrap_or(object);
    if json::trim(open) == b"{" {
        let mut record = with_room(2);
        record.put(b"{\"dead_letter\":");
        block.put(&mut record);
        record.put(b"}");
        return record.into();
    }
    let mut record = with_room(open.len());
    record.put(open);
    close(record, block)
}

fn wrap(text: &str, block: &DeadLetter) -> Bytes {
    let mut record = with_room(text.len() + text.len() / 8);
    record.put(b"{\"raw\":");
    put_string(&mut record, text);
    close(record, block)
}

fn close(mut record: Vec<u8>, block: &DeadLetter) -> Bytes {
    record.put(b",\"dead_letter\":");
    block.put(&mut record);
    record.put(b"}");
    record.into()
}

fn with_room(body: usize) -> Vec<u8> {
    Vec::with_capacity(body + 320)
}

#[cfg(test)]
mod tests;

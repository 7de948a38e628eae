//! One direction of one connection through a proxy, frame by frame.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use pulsar_wire::proto::{CommandLookupTopicResponse, LookupType};
use pulsar_wire::{Command, ServerError, encode_frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;

use super::rules::{Direction, Fate, Rules};

pub(super) struct Pump {
    direction: Direction,
    own_url: String,
    rules: watch::Receiver<Rules>,
    withheld: Vec<(&'static str, Bytes)>,
}

impl Pump {
    pub(super) fn new(direction: Direction, own_url: &str, rules: watch::Receiver<Rules>) -> Self {
        Self {
            direction,
            own_url: own_url.to_owned(),
            rules,
            withheld: Vec::new(),
        }
    }

    /// Passes frames on until either side ends.
    pub(super) async fn run(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut input = BytesMut::new();
        let mut changes = self.rules.clone();
        loop {
            let mut out = self.released();
            while let Some(frame) = next_frame(&mut input) {
                let pause = self.leave().await;
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                out.extend(self.censored(frame));
            }
            if to.write_all(&out).await.is_err() {
                return;
            }
            // A side that is held is not read from: its peer must feel it.
            self.leave().await;
            tokio::select! {
                read = from.read_buf(&mut input) => match read {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                },
                changed = changes.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Waits until this direction is not held; how long a frame is to be delayed then.
    async fn leave(&mut self) -> Duration {
        let direction = self.direction;
        match self.rules.wait_for(|rules| !rules.holds(direction)).await {
            Ok(rules) => rules.pause,
            // The proxy is gone, and this connection with it.
            Err(_) => Duration::ZERO,
        }
    }

    fn released(&mut self) -> Vec<u8> {
        let rules = self.rules.borrow();
        let released = self
            .withheld
            .extract_if(.., |(name, _)| !rules.fates.contains_key(name));
        released.flat_map(|(_, frame)| frame).collect()
    }

    /// What is passed on of a frame.
    fn censored(&mut self, frame: Bytes) -> Bytes {
        let Some(command) = command(&frame) else {
            return frame;
        };
        let rules = self.rules.borrow();
        let name = command.name();
        let Some(fate) = rules.fates.get(name) else {
            return match command {
                Command::LookupTopicResponse(answer) => self.looked_up(answer, rules.lookup_error),
                _ => frame,
            };
        };
        rules.note_kept_back(name);
        match fate {
            Fate::Lose => Bytes::new(),
            Fate::Withhold => {
                self.withheld.push((name, frame));
                Bytes::new()
            }
            Fate::Damage => damaged(&frame),
            Fate::Alter(alteration) => with_command(&alteration.of(command), &frame),
        }
    }

    fn looked_up(&self, mut answer: Box<CommandLookupTopicResponse>, error: Option<ServerError>) -> Bytes {
        if let Some(code) = error {
            answer.response = Some(LookupType::Failed as i32);
            answer.error = Some(code.code());
            answer.broker_service_url = None;
        } else if answer.broker_service_url.is_some() {
            answer.broker_service_url = Some(self.own_url.clone());
        }
        let mut out = BytesMut::new();
        encode_frame(&Command::LookupTopicResponse(answer), &mut out);
        out.freeze()
    }
}

fn damaged(frame: &Bytes) -> Bytes {
    let mut bytes = BytesMut::from(&frame[..]);
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    bytes.freeze()
}

/// The frame with another command before the message that it may carry.
fn with_command(command: &Command, frame: &Bytes) -> Bytes {
    let mut out = BytesMut::new();
    encode_frame(command, &mut out);
    out.extend_from_slice(&message(frame));
    let length = u32::try_from(out.len() - 4).expect("a frame");
    out[..4].copy_from_slice(&length.to_be_bytes());
    out.freeze()
}

/// The next whole frame, its length included.
fn next_frame(input: &mut BytesMut) -> Option<Bytes> {
    let length = u32::from_be_bytes(*input.first_chunk()?) as usize;
    let total = 4 + length;
    if input.len() < total {
        input.reserve(total - input.len());
        return None;
    }
    Some(input.split_to(total).freeze())
}

fn command(frame: &Bytes) -> Option<Command> {
    let mut rest = frame.slice(4..);
    let length = rest.try_get_u32().ok()? as usize;
    (length <= rest.len()).then(|| Command::decode(rest.slice(..length)).ok())?
}

/// What follows the command of a frame that has one.
fn message(frame: &Bytes) -> Bytes {
    let mut rest = frame.slice(4..);
    let length = rest.get_u32() as usize;
    rest.slice(length..)
}

//! One connection: frames in, to the core and out again, all in one task.
//!
//! The task waits for the socket, its outlet, the clock or the end of the broker; then it reads
//! once, gives all whole frames to the core under one lock, and writes what the socket takes. It
//! does not read from a peer that does not read.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use pulsar_wire::proto::CommandPing;
use pulsar_wire::{Command, FRAME_SLACK, Frame, FrameDecoder};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{sleep_until, timeout};

use super::hub::Hub;
use super::lane::{Gate, Lane};
use super::liveness::{Liveness, Verdict};
use super::next::Deed;
use super::outlet::{Outgoing, Outlet};
use super::writer::Writer;
use super::{accept, answer};
use crate::broker::Broker;
use crate::peer::PeerId;
use crate::room;

/// What a frame may have before CONNECT, so that a stranger gets no large buffer.
const HANDSHAKE_FRAME: usize = 128 * 1024;

/// How much is read at once: little at first, more from a peer that sends a lot.
const FIRST_READ: usize = 4 * 1024;
const LARGEST_READ: usize = 256 * 1024;

/// With so much of a frame there, only the rest of it is read.
const MID_FRAME: usize = 64 * 1024;

/// With so much unwritten the peer is not read any more.
const UNWRITTEN: usize = 8 * 1024 * 1024;

/// With so many frames held back by a test the peer is not read any more.
const HELD_BACK: usize = 100_000;

/// Messages of fewer bytes are stored in memory of their own, as they would keep all that was read
/// with them.
const SMALL: usize = 4 * 1024;

/// How long a peer may take for the last that it is sent.
const FAREWELL: Duration = Duration::from_secs(1);

pub(super) async fn serve(
    hub: Arc<Hub>,
    stream: TcpStream,
    remote: SocketAddr,
    stopped: watch::Receiver<bool>,
) {
    let (peer, outlet) = hub.connect(remote);
    tracing::debug!(%remote, %peer, "connection taken");
    let mut connection = Connection {
        liveness: Liveness::new(hub.patience, Instant::now()),
        decoder: FrameDecoder::new(HANDSHAKE_FRAME),
        input: BytesMut::new(),
        read_size: FIRST_READ,
        incoming: Lane::default(),
        outgoing: Lane::default(),
        writer: Writer::default(),
        hub,
        stream,
        peer,
        outlet,
    };
    let end = tokio::select! {
        end = connection.run() => end,
        () = accept::ended(stopped.clone()) => End::Stop,
    };
    // Whoever does not read it in time goes without.
    let _ = match end {
        End::Closed(_) | End::Stop => timeout(FAREWELL, connection.finish()).await,
        End::Cut => timeout(FAREWELL, connection.flush()).await,
        End::Broken(_) | End::Gone => Ok(Ok(())),
    };
    drop(connection);
    match end {
        End::Broken(why) | End::Closed(why) => tracing::warn!(%remote, %peer, why, "connection closed"),
        End::Cut | End::Gone => tracing::debug!(%remote, %peer, "connection ended"),
        End::Stop => {}
    }
    // A shutdown waits for this.
    drop(stopped);
}

/// Why a connection ends.
enum End {
    /// The peer broke the protocol below the commands, or is not heard of.
    Broken(String),
    /// The core does not want it any more.
    Closed(String),
    /// A test wants it.
    Cut,
    /// The peer has left.
    Gone,
    /// The broker ends.
    Stop,
}

impl From<io::Error> for End {
    /// Whatever happens on a socket, the peer is gone.
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

struct Connection {
    hub: Arc<Hub>,
    stream: TcpStream,
    peer: PeerId,
    outlet: Arc<Outlet>,
    liveness: Liveness,
    decoder: FrameDecoder,
    input: BytesMut,
    read_size: usize,
    incoming: Lane<Frame>,
    outgoing: Lane<Outgoing>,
    writer: Writer,
}

/// However it ends, be it with a panic: what it held goes to others.
impl Drop for Connection {
    fn drop(&mut self) {
        self.hub.disconnect(self.peer);
    }
}

impl Connection {
    async fn run(&mut self) -> End {
        match self.try_run().await {
            Ok(end) | Err(end) => end,
        }
    }

    async fn try_run(&mut self) -> Result<End, End> {
        let clock = sleep_until(Instant::now().into());
        tokio::pin!(clock);
        loop {
            if let Some(why) = self.write()? {
                return Ok(End::Closed(why));
            }
            if self.reads() && !self.incoming.frames.is_empty() {
                self.handle()?;
                // Others, and the broker's end, have a turn too.
                yield_now().await;
                continue;
            }
            let interest = self.interest();
            tokio::select! {
                ready = self.stream.ready(interest.unwrap_or(Interest::READABLE)), if interest.is_some() => {
                    if ready?.is_readable() && self.reads() {
                        self.read()?;
                    }
                }
                () = self.outlet.filled() => {}
                () = self.incoming.opened() => self.handle()?,
                () = self.outgoing.opened() => {}
                () = &mut clock => clock.as_mut().reset(self.look_at_clock()?.into()),
            }
        }
    }

    /// Writes all that is there after the end was decided.
    async fn finish(&mut self) -> Result<(), End> {
        self.write()?;
        self.flush().await
    }

    /// Writes what is encoded.
    async fn flush(&mut self) -> Result<(), End> {
        while self.writer.left() > 0 {
            self.stream.writable().await?;
            self.writer.write(&self.stream)?;
        }
        Ok(())
    }

    /// Writes what the socket takes; says why the connection is to end, if it is.
    fn write(&mut self) -> Result<Option<String>, End> {
        loop {
            let closed = self.outlet.take(&mut self.outgoing.frames);
            let lost = self.encode()?;
            if self.writer.left() == 0 && lost == 0 {
                return Ok(closed);
            }
            let (was_read, left) = (self.reads(), self.writer.left());
            let room = lost + self.writer.write(&self.stream)?;
            if !was_read && self.writer.left() < left {
                // It cannot be heard, but it reads.
                self.liveness.hear(Instant::now());
            }
            if room == 0 || closed.is_some() {
                return Ok(closed);
            }
            // More may have waited for the room.
            self.hub
                .with_own(self.peer, |broker, now| broker.written(now, self.peer, room));
        }
    }

    /// Moves what may go out to the writer; gives the room of what was lost on the way.
    fn encode(&mut self) -> Result<usize, End> {
        let mut lost = 0;
        while let Some(((command, message), deed)) =
            self.outgoing.next(&self.hub.rules, |(command, _)| command.kind())
        {
            match deed {
                None | Some(Deed::Fail(..)) => self.writer.put(&command, message),
                Some(Deed::Discard) => lost += message.map_or(0, |message| room::size(&message)),
                Some(Deed::Delay(time)) => {
                    let gate = Gate::At(Instant::now() + time);
                    self.outgoing.hold((command, message), gate);
                }
                Some(Deed::Hold(released)) => {
                    self.outgoing.hold((command, message), Gate::Released(released));
                }
                Some(Deed::Cut) => return Err(End::Cut),
            }
        }
        Ok(lost)
    }

    fn reads(&self) -> bool {
        !self.incoming.is_held() && self.writer.left() < UNWRITTEN && self.outgoing.frames.len() < HELD_BACK
    }

    fn interest(&self) -> Option<Interest> {
        match (self.reads(), self.writer.left() > 0) {
            (true, false) => Some(Interest::READABLE),
            (true, true) => Some(Interest::READABLE | Interest::WRITABLE),
            (false, true) => Some(Interest::WRITABLE),
            (false, false) => None,
        }
    }

    /// Reads once and hands whole frames to the core.
    fn read(&mut self) -> Result<(), End> {
        // For the rest of a large frame the decoder has made room; more would move what is there.
        if self.input.len() < MID_FRAME {
            self.input.reserve(self.read_size);
        }
        let room = self.input.capacity() - self.input.len();
        let read = match self.stream.try_read_buf(&mut self.input) {
            Ok(0) => return Err(End::Gone),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if read == room {
            self.read_size = (2 * self.read_size).min(LARGEST_READ);
        }
        let now = Instant::now();
        self.liveness.hear(now);
        let broken = self.decode(now).err();
        self.handle()?;
        broken.map_or(Ok(()), Err)
    }

    fn decode(&mut self, now: Instant) -> Result<(), End> {
        loop {
            let frame = self.decoder.decode(&mut self.input);
            let Some(frame) = frame.map_err(|error| End::Broken(error.to_string()))? else {
                return Ok(());
            };
            if matches!(frame.command, Command::Connect(_)) && !self.liveness.is_connected() {
                self.liveness.connected(now);
                self.decoder.set_limit(self.hub.max_message_size + FRAME_SLACK);
            }
            self.incoming.frames.push_back(frame);
        }
    }

    /// Hands frames that were read to the core: all of them up to a question, whose answer may be
    /// long and is to be on its way before the next is asked.
    fn handle(&mut self) -> Result<(), End> {
        if !self.incoming.is_free(&self.hub.rules) {
            return self.handle_by_rules();
        }
        let (peer, frames) = (self.peer, &mut self.incoming.frames);
        if frames.is_empty() {
            return Ok(());
        }
        let early = self.hub.with_own(peer, |broker, now| {
            while let Some(frame) = frames.pop_front() {
                let is_question = is_question(&frame.command);
                receive(broker, now, peer, frame)?;
                if is_question {
                    break;
                }
            }
            Ok(())
        });
        self.wait_for_its_time(early);
        Ok(())
    }

    fn handle_by_rules(&mut self) -> Result<(), End> {
        let peer = self.peer;
        while let Some((frame, deed)) = self.incoming.next(&self.hub.rules, |frame| frame.command.kind()) {
            match deed {
                None => {
                    let early = self
                        .hub
                        .with_own(peer, |broker, now| receive(broker, now, peer, frame));
                    self.wait_for_its_time(early);
                }
                Some(Deed::Discard) => {}
                Some(Deed::Delay(time)) => self.incoming.hold(frame, Gate::At(Instant::now() + time)),
                Some(Deed::Hold(released)) => self.incoming.hold(frame, Gate::Released(released)),
                Some(Deed::Fail(error, message)) => {
                    if let Some(answer) = answer::failure(&frame.command, error, message) {
                        self.outlet.push(answer, None, true);
                    }
                }
                Some(Deed::Cut) => return Err(End::Cut),
            }
        }
        Ok(())
    }

    fn wait_for_its_time(&mut self, early: Result<(), Early>) {
        if let Err(Early { frame, by }) = early {
            self.incoming.wait(*frame, Gate::At(Instant::now() + by));
        }
    }

    /// Who has nothing to say needs no memory.
    fn shrink(&mut self) {
        if self.input.is_empty() {
            self.input = BytesMut::new();
            self.read_size = FIRST_READ;
        }
        self.incoming.frames.shrink_to_fit();
        self.outgoing.frames.shrink_to_fit();
    }

    /// Says when to look again.
    fn look_at_clock(&mut self) -> Result<Instant, End> {
        let now = Instant::now();
        if self.incoming.is_held() {
            // It may have a lot to say.
            self.liveness.hear(now);
        }
        loop {
            match self.liveness.judge(now) {
                Verdict::Wait(until) => return Ok(until),
                Verdict::GiveUp(why) => return Err(End::Broken(why.to_owned())),
                Verdict::Ask => {
                    self.writer.put(&CommandPing {}.into(), None);
                    self.shrink();
                }
            }
        }
    }
}

/// A frame over its topic's limit.
struct Early {
    frame: Box<Frame>,
    by: Duration,
}

fn receive(broker: &mut Broker, now: Instant, peer: PeerId, frame: Frame) -> Result<(), Early> {
    if let Some(until) = broker.must_wait_until(now, peer, &frame.command) {
        return Err(Early {
            frame: Box::new(frame),
            by: until.saturating_duration_since(now),
        });
    }
    let message = frame.message.map(|message| own(message.headers_and_payload));
    broker.receive(now, peer, frame.command, message);
    Ok(())
}

/// Whether the answer may be much longer than the frame. What comes in numbers is not.
fn is_question(command: &Command) -> bool {
    !matches!(
        command,
        Command::Send(_)
            | Command::Ack(_)
            | Command::Flow(_)
            | Command::Ping(_)
            | Command::Pong(_)
            | Command::RedeliverUnacknowledgedMessages(_)
    )
}

/// A message in memory that holds little else.
fn own(message: Bytes) -> Bytes {
    if message.len() < SMALL {
        Bytes::copy_from_slice(&message)
    } else {
        message
    }
}

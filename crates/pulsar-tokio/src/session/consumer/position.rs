//! Where in a topic a consumer reads: moved by a seek, and kept by us where the broker does not keep it.

use pulsar_wire::proto::MessageIdData;

use super::Consumer;
use crate::message::{EntryKey, Ticket};
use crate::session::chunks::Chunks;
use crate::session::entries::Entries;

/// A place in a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Before the first message that the topic still has.
    Earliest,
    /// Behind the last message.
    Latest,
    /// Before the member with this index of this entry.
    Member(EntryKey, u32),
}

impl Position {
    /// Behind a whole entry.
    pub(crate) fn behind(key: EntryKey) -> Self {
        Self::Member(key, u32::MAX)
    }

    pub(crate) fn to_wire(self) -> MessageIdData {
        let (ledger_id, entry_id) = match self {
            // Both are -1 for the broker.
            Self::Earliest => (u64::MAX, u64::MAX),
            Self::Latest => (i64::MAX.unsigned_abs(), i64::MAX.unsigned_abs()),
            Self::Member(key, _) => (key.ledger, key.entry),
        };
        MessageIdData {
            ledger_id,
            entry_id,
            ..MessageIdData::default()
        }
    }
}

/// Who remembers how far a subscription has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The broker.
    Durably,
    /// We: each session begins at this place, and the broker forgets it all with the last session.
    ByUs(Position),
}

/// What the consumer knows of its place.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// The member to begin with in an entry that is read from the middle.
    first: Option<(EntryKey, u32)>,
    /// The newest message that was handed out.
    last: Option<(EntryKey, u32)>,
    /// A seek has been asked for, and the session from before it has not ended yet.
    is_seeking: bool,
    /// Tickets of this session and of those before it are from before the last seek.
    sought: u32,
}

impl<A> Consumer<A> {
    /// Where a session begins that the broker keeps no place for.
    pub(super) fn start(&self) -> Option<Position> {
        match self.setup.kept {
            Kept::Durably => None,
            Kept::ByUs(start) => Some(match self.place.last {
                Some((key, index)) => Position::Member(key, index.saturating_add(1)),
                None => start,
            }),
        }
    }

    /// A session begins at this place.
    pub(super) fn begin_at(&mut self, position: Position) {
        if let Position::Member(key, index) = position {
            self.place.first = Some((key, index));
        }
    }

    /// From now on what is not handed out yet may be from the wrong place.
    pub(crate) fn begin_seek(&mut self) {
        self.place.is_seeking = true;
    }

    /// The broker has moved the cursor, or refused to: `to` is none then. True if the session from before is still
    /// open, so that it has to be left.
    pub(crate) fn end_seek(&mut self, to: Option<Position>) -> bool {
        let is_open = self.place.is_seeking;
        let Some(to) = to else {
            self.place.is_seeking = false;
            return false;
        };
        self.leave_place();
        self.move_to(to);
        is_open
    }

    /// Reading began here, unless something was handed out meanwhile.
    pub(crate) fn know_start(&mut self, position: Position) {
        if let Kept::ByUs(start) = &mut self.setup.kept {
            *start = position;
        }
    }

    fn move_to(&mut self, position: Position) {
        if let Kept::ByUs(start) = &mut self.setup.kept {
            *start = position;
        }
        self.begin_at(position);
    }

    /// The session that was open when a seek was asked for ends: nothing of it counts any more, so that what comes
    /// from the new place runs, whatever became of it before.
    pub(super) fn leave_place(&mut self) {
        if !std::mem::take(&mut self.place.is_seeking) {
            return;
        }
        self.entries = Entries::default();
        self.chunks = Chunks::default();
        self.place = Place {
            sought: self.session,
            ..Place::default()
        };
    }

    /// True if the message was handed out before the last seek: to settle it would be to settle what came after.
    pub(super) fn is_from_before_seek(&self, ticket: Ticket) -> bool {
        ticket.session <= self.place.sought
    }

    /// True if this member lies before the place where reading begins.
    pub(super) fn is_before_start(&self, key: EntryKey, index: u32) -> bool {
        self.place
            .first
            .is_some_and(|(first, from)| first == key && index < from)
    }

    pub(super) fn note_handed_out(&mut self, key: EntryKey, index: u32) {
        if self.setup.kept != Kept::Durably {
            self.place.last = Some((key, index));
        }
    }

    /// The newest message that was handed out, or else where reading begins.
    pub(crate) fn position(&self) -> Option<Position> {
        match (self.place.last, self.setup.kept) {
            (Some((key, index)), _) => Some(Position::Member(key, index.saturating_add(1))),
            (None, Kept::ByUs(start)) => Some(start),
            (None, Kept::Durably) => None,
        }
    }
}

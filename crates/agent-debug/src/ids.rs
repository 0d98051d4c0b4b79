//! Ids of frames and references of this crate's own: adapters use theirs again, and answer for an old one with what is there
//! now.

use std::collections::HashMap;

/// What an id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Frame,
    Reference,
    /// A reference that stands for a scope of this frame of the adapter's. Adapters give one number to the same scope of all
    /// frames, and mean by it that of the frame which was asked for last.
    Scope(i64),
}

/// Why an id names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It named something before the debuggee moved on.
    Stale,
    /// It never named anything.
    Never,
    /// It names something of the other kind.
    IsA(Kind),
}

/// The ids of one debugger. A number is given once.
#[derive(Debug)]
pub(crate) struct Ids {
    next: i64,
    of_this_stop: HashMap<i64, (Kind, i64)>,
    given: HashMap<(Kind, i64), i64>,
}

impl Ids {
    /// Ids from this number on.
    pub(crate) fn from(next: i64) -> Self {
        Self { next, of_this_stop: HashMap::new(), given: HashMap::new() }
    }

    /// The number that will be given next.
    pub(crate) fn next(&self) -> i64 {
        self.next
    }

    /// The id for what the adapter calls `adapter`; the same one as long as the debuggee stands still.
    pub(crate) fn give(&mut self, kind: Kind, adapter: i64) -> i64 {
        if let Some(id) = self.given.get(&(kind, adapter)) {
            return *id;
        }
        let id = self.next;
        self.next += 1;
        self.given.insert((kind, adapter), id);
        self.of_this_stop.insert(id, (kind, adapter));
        id
    }

    /// What the adapter calls it.
    pub(crate) fn adapter(&self, kind: Kind, id: i64) -> Result<i64, Missing> {
        match self.of_this_stop.get(&id) {
            Some((is, adapter)) if is.names() == kind => Ok(*adapter),
            Some((is, _)) => Err(Missing::IsA(is.names())),
            None if (1..self.next).contains(&id) => Err(Missing::Stale),
            None => Err(Missing::Never),
        }
    }

    /// The adapter's frame of which this is a scope.
    pub(crate) fn frame_of(&self, id: i64) -> Option<i64> {
        match self.of_this_stop.get(&id) {
            Some((Kind::Scope(frame), _)) => Some(*frame),
            _ => None,
        }
    }

    /// The debuggee moved on: no id so far names anything any more.
    pub(crate) fn forget(&mut self) {
        self.of_this_stop.clear();
        self.given.clear();
    }
}

impl Kind {
    /// What the id is to whoever uses it.
    fn names(self) -> Self {
        match self {
            Self::Scope(_) => Self::Reference,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ids, Kind, Missing};

    #[test]
    fn an_id_names_one_thing_at_one_stop() {
        let mut ids = Ids::from(1);
        let frame = ids.give(Kind::Frame, 1000);
        let reference = ids.give(Kind::Reference, 1000);
        assert_ne!(frame, reference);
        assert_eq!(ids.give(Kind::Frame, 1000), frame);
        assert_eq!(ids.adapter(Kind::Frame, frame), Ok(1000));
        assert_eq!(ids.adapter(Kind::Reference, frame), Err(Missing::IsA(Kind::Frame)));
        let scopes = [1, 2].map(|frame| ids.give(Kind::Scope(frame), 5));
        assert_ne!(scopes[0], scopes[1]);
        assert_eq!(scopes.map(|id| ids.frame_of(id)), [Some(1), Some(2)]);
        assert_eq!(ids.adapter(Kind::Reference, scopes[0]), Ok(5));
        assert_eq!(ids.adapter(Kind::Frame, scopes[0]), Err(Missing::IsA(Kind::Reference)));
        ids.forget();
        assert_eq!(ids.adapter(Kind::Frame, frame), Err(Missing::Stale));
        assert_ne!(ids.give(Kind::Frame, 1000), frame);
        assert_eq!(ids.adapter(Kind::Frame, 99), Err(Missing::Never));
        assert_eq!(ids.adapter(Kind::Frame, 0), Err(Missing::Never));
    }
}

//! What the state of a report rests on, in words.

use super::{Origin, Report};
use crate::{
    diagnostic::State,
    ledger::{Pending, Unsettled},
};

impl Report {
    /// What has to come before the state is known.
    pub(super) fn open(&self) -> Vec<&Pending> {
        let written = self.pending.iter().filter(|pending| pending.origin == Origin::Written);
        let written: Vec<_> = written.collect();
        if written.is_empty() && self.state == State::Unknown {
            return self.pending.iter().collect();
        }
        written
    }

    /// What the state rests on.
    pub(super) fn why(&self) -> String {
        let pending: Vec<_> = self
            .open()
            .iter()
            .map(|pending| format!("{}: {}", pending.ticket.server(), pending.why.words()))
            .collect();
        let new: usize = self
            .new
            .iter()
            .filter(|news| news.origin == Origin::Written)
            .map(|news| news.new.len())
            .sum();
        let old = self.remaining.len().saturating_sub(new);
        if self.nothing_is_there && self.has_written {
            return self.why_of_nothing(&pending);
        }
        if let Some(configured) = self.others.configured().filter(|_| !self.has_written) {
            return match (pending.as_slice(), new) {
                ([], _) => format!("{configured}{}", self.elsewhere()),
                _ => format!("{configured}; not confirmed yet ({})", pending.join(", ")),
            };
        }
        match (self.state, pending.is_empty()) {
            (_, false) => format!("not confirmed yet ({})", pending.join(", ")),
            _ if !self.unseen.is_empty() => {
                format!("not confirmed: no server looked at {}", self.unseen.join(", "))
            }
            (State::Clean, true) => {
                let others = if self.others.is_whole() {
                    ", confirmed"
                } else {
                    ", and not every other file was looked at"
                };
                format!("no errors or warnings in what was written{others}{}", self.elsewhere())
            }
            (_, true) if new == 0 => format!("no new diagnostics; {old} from before"),
            (_, true) => format!("{new} new, {old} from before"),
        }
    }

    /// What the state rests on where nothing of what was written is left.
    fn why_of_nothing(&self, pending: &[String]) -> String {
        let looked_at = self.others.looked_at.len();
        let seen = match looked_at {
            0 if self.others.names.is_empty() => "no other file was looked at".to_owned(),
            0 => format!("no other file that names {} was looked at", self.others.quoted()),
            1 => "1 other file was looked at".to_owned(),
            n => format!("{n} other files were looked at"),
        };
        let news = match looked_at {
            0 => "",
            _ if self.new.is_empty() => ", with no new errors",
            _ => "",
        };
        let wait = match pending {
            [] => String::new(),
            _ => format!("; not confirmed yet ({})", pending.join(", ")),
        };
        format!("what was written is gone; {seen}{news}{}{wait}", self.elsewhere())
    }

    /// The errors of other files that are none of this write's.
    fn elsewhere(&self) -> String {
        match self.elsewhere {
            0 => String::new(),
            1 => "; other files had 1 error when they were looked at last".to_owned(),
            n => format!("; other files had {n} errors when they were looked at last"),
        }
    }
}

impl Unsettled {
    /// The reason in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::TimedOut { waiting_for } => waiting_for.clone(),
            Self::NotLookedFor { why } => why.clone(),
            Self::NotLookedAt(_) => "it is one too many".to_owned(),
            Self::Partial => "more is to come".to_owned(),
            Self::Outdated => "the answer was for an older text".to_owned(),
            Self::Closed => "the file was closed".to_owned(),
            Self::Crashed => "the server ended".to_owned(),
        }
    }
}

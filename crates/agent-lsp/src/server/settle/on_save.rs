//! The diagnostics of a compiler that runs after a save, with those of the server's own analysis.

mod compiled;

use std::{path::PathBuf, time::Instant};

use serde_json::Value;

use super::{Checks, DIAGNOSTIC, Reading, Settled, Snapshot, millis};
use crate::{
    server::{check::Start, told::State},
    table::{Check, LeavesOut},
};

/// How often a check is run whose lists came out of order, before it is given up.
const MAX_CHECKS: usize = 3;

/// The severity of an error in the protocol.
const ERROR: u64 = 1;

/// How long the name of a program may be, in bytes.
const NAME: usize = 40;

/// How many characters of the server's words are told.
const WHY_CHARS: usize = 300;

impl Reading<'_> {
    pub(super) async fn on_save(&self, checks: Checks, check: &Check) -> Snapshot {
        // First the check, and then what the server finds by itself: it reads a file that others changed a
        // little after it was told of it, and is not heard to have done so.
        let settled = match checks {
            Checks::Untrusted => Settled::InPart(
                "only the server's own analysis: its check runs the project's code, and this \
                 checkout is not trusted"
                    .to_owned(),
            ),
            Checks::Past if self.was_checked(check) => match self.unseen(check) {
                Some(why) => Settled::No(why),
                None => Settled::Yes("the last check ended"),
            },
            Checks::Past => Settled::No("no check has ended yet".to_owned()),
            Checks::Run => self.checked(check).await,
        };
        let native = match self.client.offers(DIAGNOSTIC) {
            Some(options) => self.asked(&options).await.map(|(list, _)| list),
            None => Ok(Vec::new()),
        };
        let mut list = match native {
            Ok(list) => list,
            Err(why) => return self.snapshot(&[], 0, Settled::No(why)),
        };
        if checks == Checks::Untrusted {
            return self.snapshot(&list, 0, settled);
        }
        let checked = self.published();
        let cut = checked.as_ref().map_or(0, |published| published.cut);
        list.extend(checked.into_iter().flat_map(|published| published.diagnostics));
        self.snapshot(&list, cut, settled)
    }

    fn was_checked(&self, check: &Check) -> bool {
        let told = self.client.told.look();
        told.checks(check).next().is_some() && !told.is_checking(check)
    }

    /// Lets a check run until its lists can be believed.
    async fn checked(&self, check: &Check) -> Settled {
        let mut why = Start::Changed;
        for _ in 0..MAX_CHECKS {
            let started = self.client.start_check(check, Some(self.file), why, self.deadline).await;
            if let Err(why) = started {
                return Settled::No(why);
            }
            let began = match self.checked_once(check).await {
                Ok(began) => began,
                Err(why) => return Settled::No(why),
            };
            // A check empties a list first and then adds to it. rust-analyzer publishes from several threads,
            // so a list that came later is at times the earlier one.
            let is_ordered = !self.published().is_some_and(|found| found.has_shrunk_since(began));
            if is_ordered && !self.client.is_doubted(began) {
                if let Some(why) = self.unseen(check) {
                    return Settled::No(why);
                }
                return Settled::Yes("the check after the save ended");
            }
            why = Start::NoneSince(began);
        }
        Settled::No("the server published its lists out of order".to_owned())
    }

    /// Waits until the check that was started last has ended and none runs; gives what the server had told when it began, or why
    /// there is none.
    async fn checked_once(&self, check: &Check) -> Result<u64, String> {
        // One that is started meanwhile cuts this one short.
        let is_last = |began: &u64| *began > self.client.check_started();
        let over = |state: &State| {
            let began = state.checks(check).map(|end| end.began).filter(is_last).max()?;
            let last = state.checks(check).map(|end| end.at).max()?;
            (!state.is_checking(check)).then_some((began, last))
        };
        let begins = (Instant::now() + millis(check.begin_ms)).min(self.deadline);
        let begun = |state: &State| {
            let running = state.checking(check).any(|running| is_last(&running.began));
            (running || over(state).is_some()).then_some(())
        };
        if self.client.told.until(begins, begun).await.is_none() {
            return Err("the check after the save has not begun".to_owned());
        }
        loop {
            let Some((began, ended)) = self.client.told.until(self.deadline, over).await else {
                return Err("the check after the save still runs".to_owned());
            };
            let again = |state: &State| state.is_checking(check).then_some(());
            let tail = match self.client.is_doubted(began) {
                true => check.restart_ms.max(check.settle_ms),
                false => check.settle_ms,
            };
            if self.client.told.until(ended + millis(tail), again).await.is_none() {
                return Ok(began);
            }
        }
    }

    /// Why the last check may not have come to the file, though it ended.
    fn unseen(&self, check: &Check) -> Option<String> {
        let (failure, broke_off, erring) = {
            let told = self.client.told.look();
            let last = told.checks(check).next_back().and_then(|end| end.last_report.as_deref());
            let builds = check.builds.as_deref();
            let broke_off = last.zip(builds).is_some_and(|(last, builds)| last.contains(builds));
            (failure(&told, check), broke_off, erring(&told))
        };
        if failure.is_some() {
            return failure;
        }
        if broke_off {
            let why = "the check ended with a build script, which may have failed; nothing shows that it came further";
            return Some(why.to_owned());
        }
        if check.leaves_out == LeavesOut::Nothing || erring.contains(&self.path) {
            return None;
        }
        let root = &self.client.start.root;
        let file = erring.iter().find(|erring| compiled::may_block(erring, &self.path, root))?;
        let file = file.strip_prefix(root).unwrap_or(file).display();
        Some(format!("the check ended with errors in {file}: what depends on it was not compiled"))
    }
}

/// What the server says of a check that could not run, or of itself where it is not well.
fn failure(told: &State, check: &Check) -> Option<String> {
    let status = told.status()?;
    let message = status.message.as_deref().unwrap_or_default();
    let clipped = |text: &str| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words.chars().take(WHY_CHARS).collect::<String>()
    };
    // Other things that are wrong may stand before it.
    if let Some((place, _)) =
        check.fails.as_deref().and_then(|part| message.match_indices(part).next())
    {
        let sentence = message[..place].rfind(['\n', '.']).map_or(0, |end| end + 1);
        // The program's name stands before it, and nothing long.
        let line = if place - sentence <= NAME { sentence } else { place };
        return Some(format!("the check could not run: {}", clipped(&message[line..])));
    }
    (status.health != "ok").then(|| {
        format!("the server is not well, and its check may not be whole: {}", clipped(message))
    })
}

/// The files in which the compiler found errors.
fn erring(told: &State) -> Vec<PathBuf> {
    let is_error = |found: &Value| found["severity"] == ERROR;
    let all =
        told.all_published().filter(|(_, published)| published.diagnostics.iter().any(is_error));
    let mut files: Vec<_> = all.map(|(file, _)| file.clone()).collect();
    files.sort();
    files
}

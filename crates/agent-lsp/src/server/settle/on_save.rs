//! The diagnostics of a compiler that runs after a save, with those of the server's own analysis.

use std::time::Instant;

use super::{Checks, DIAGNOSTIC, Reading, Settled, Snapshot, millis};
use crate::{
    server::{check::Start, told::State},
    table::Check,
};

/// How often a check is run whose lists came out of order, before it is given up.
const MAX_CHECKS: usize = 3;

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
            Checks::Past if self.was_checked(check) => Settled::Yes("the last check ended"),
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
            if let Some(why) = self.failure(check) {
                return Settled::No(format!("the check could not run: {why}"));
            }
            // A check empties a list first and then adds to it. rust-analyzer publishes from several threads,
            // so a list that came later is at times the earlier one.
            let is_ordered = !self.published().is_some_and(|found| found.has_shrunk_since(began));
            if is_ordered && !self.client.is_doubted(began) {
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

    /// What the server says of a check that could not run.
    fn failure(&self, check: &Check) -> Option<String> {
        let told = self.client.told.look();
        let message = told.status()?.message.as_deref()?;
        let words = || message.split_whitespace().collect::<Vec<_>>().join(" ");
        message.contains(check.fails.as_deref()?).then(words)
    }
}

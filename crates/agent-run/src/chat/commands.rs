//! What a person types for the program itself.

use agent_loop::{Count, Tally};
use agent_tiers::Surface;
use agent_tool_core::{Dispatch as _, counted};
use anyhow::Result;

use super::{
    cards::ChatCards,
    crew::Crew,
    is_of_vibe,
    screen::Screen,
    show::Turns,
    talk::Talk,
    tools::sentence,
    typed::{COMMANDS, Command, Vibe},
    without_workers,
};
use crate::{
    assemble::Assembled,
    lock,
    style::{FAINT, STRONG, in_style},
    trust::Trust,
};

/// What can be looked at, while the model works too.
pub(super) struct Looks<'a> {
    pub(super) assembled: &'a Assembled,
    /// The model's name.
    pub(super) model: &'a str,
    pub(super) turns: &'a Turns,
    pub(super) screen: &'a Screen,
    pub(super) cards: &'a ChatCards,
    pub(super) crew: Option<&'a Crew>,
    pub(super) trust: Trust,
    /// What was used until the turn began that is under way.
    pub(super) tally: &'a Tally,
    pub(super) when: When,
}

/// When somebody looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Between turns.
    Idle,
    /// During a turn.
    Turn,
}

impl Talk {
    /// Does what the person typed for the program itself.
    pub(super) async fn command(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Surface(surface) => self.show_surface(surface),
            Command::Answer(answer) => match self.cards.answer(&answer) {
                Ok(said) | Err(said) => self.screen.line(&said),
            },
            Command::Vibe(vibe) => self.vibe(vibe).await?,
            Command::Quit => {}
            command => self.looks(When::Idle).look(&command),
        }
        Ok(())
    }

    pub(super) fn looks(&self, when: When) -> Looks<'_> {
        Looks {
            assembled: &self.assembled,
            model: self.agent.model().name(),
            turns: &self.turns,
            screen: &self.screen,
            cards: &self.cards,
            crew: self.crew.as_ref(),
            trust: self.trust,
            tally: &self.tally,
            when,
        }
    }

    /// A checkout that narrows the surface narrows it here too.
    fn show_surface(&self, asked: Surface) {
        let surface = if asked == Surface::Full { self.surface } else { asked };
        self.assembled.view.set_surface(surface);
        let tools = self.assembled.view.specs().len();
        let why = match surface == asked {
            true => String::new(),
            false => ", since the configuration allows no more".to_owned(),
        };
        self.screen.line(&format!("the model is offered {tools} tools now ({surface}{why})"));
    }

    /// Gives the model workers, or ends them.
    async fn vibe(&self, vibe: Vibe) -> Result<()> {
        let (Some(workers), Some(crew)) = (&self.assembled.workers, &self.crew) else {
            self.screen.line(
                "no workers are configured; give --worker 'fast=COMMAND', or [worker.fast] in your own config.toml",
            );
            return Ok(());
        };
        match vibe {
            Vibe::On => {
                workers.turn_on();
                let registry = self.assembled.run.registry().to_builder();
                let registry = registry.without(is_of_vibe).tools(workers.tools()).build()?;
                self.assembled.run.set_registry(registry);
                self.screen.line("the model may have workers now");
                if let Some(consent) = crew.consent() {
                    self.screen.line(consent);
                }
            }
            Vibe::Off => {
                crew.look();
                let ended = workers.turn_off().await;
                crew.look();
                without_workers(&self.assembled)?;
                self.screen.line(&format!(
                    "the model has no workers any more; {} at work and killed",
                    match ended.killed {
                        1 => "1 was".to_owned(),
                        count => format!("{count} were"),
                    }
                ));
            }
        }
        Ok(())
    }
}

impl Looks<'_> {
    /// Shows what a command that only looks is for.
    pub(super) fn look(&self, command: &Command) {
        match command {
            Command::Help => {
                for (name, what) in COMMANDS {
                    let name = in_style(STRONG, format!("{name:14}"));
                    self.screen.line(&format!("{name} {what}"));
                }
            }
            Command::Tools => self.tools(),
            Command::Open(None) if self.cards.show_whole() => {}
            Command::Open(number) => self.turns.show(*number),
            Command::Trust => self.trust(),
            Command::Cost => self.cost(),
            Command::Workers => self.workers(),
            Command::Surface(_) | Command::Answer(_) | Command::Vibe(_) | Command::Quit => {}
        }
    }

    fn tools(&self) {
        for spec in self.assembled.view.specs() {
            let name = in_style(STRONG, format!("{:12}", spec.name));
            let tier = in_style(FAINT, format!("{:5}", spec.tier.as_str()));
            self.screen.line(&format!("{name} {tier} {}", sentence(&spec)));
        }
    }

    fn trust(&self) {
        let said = self.trust.said_by();
        self.screen.line(&match self.trust.is_trusted() {
            true => format!("this checkout is trusted: {said}"),
            false => format!(
                "this checkout is not trusted: {said}. It is decided when a run begins: leave, and go on with `agent-run --trust chat --continue`"
            ),
        });
    }

    fn workers(&self) {
        let rows = self.crew.map(|crew| crew.rows(&self.assembled.run)).unwrap_or_default();
        match rows.is_empty() {
            true => self.screen.line("there are no workers"),
            false => self.screen.rows(&rows),
        }
    }

    fn cost(&self) {
        let without = match self.when {
            When::Idle => "",
            When::Turn => "; this turn is counted when it ends",
        };
        self.screen.line(&format!("{}: {}{without}", self.model, used(self.tally)));
        let workers = lock(&self.assembled.worker_usage);
        for (worker, tally) in workers.iter() {
            self.screen.line(&format!("{worker}: {}", used(tally)));
        }
    }
}

/// `3 answers, 1200 tokens read (800 of them from a cache), 30 written`.
fn used(tally: &Tally) -> String {
    let Tally { answers, input, output, cached, .. } = tally;
    let answers = counted(usize::try_from(*answers).unwrap_or(usize::MAX), "answer");
    let is_said = |count: &Count| count.known > 0 || count.unknown == 0;
    if !is_said(input) && !is_said(output) {
        return format!("{answers}, and not a word about how many tokens that took");
    }
    let cached = match is_said(cached) {
        true => format!(" ({cached} of them from a cache)"),
        false => String::new(),
    };
    let tokens = |count: &Count| match is_said(count) {
        true => count.to_string(),
        false => "an unknown number of".to_owned(),
    };
    format!("{answers}, {} tokens read{cached}, {} written", tokens(input), tokens(output))
}

#[cfg(test)]
mod tests {
    use agent_loop::Usage;

    use super::*;

    #[test]
    fn what_was_used_is_said_as_far_as_the_model_said_it() {
        let tally = |usages: &[Usage]| {
            let mut tally = Tally::default();
            usages.iter().for_each(|usage| tally.add(usage));
            used(&tally)
        };
        assert_eq!(tally(&[Usage::new(10, 2)]), "1 answer, 10 tokens read, 2 written");
        assert_eq!(
            tally(&[Usage::new(10, 2).with_cached(4), Usage::new(5, 1).with_cached(0)]),
            "2 answers, 15 tokens read (4 of them from a cache), 3 written"
        );
        assert_eq!(
            tally(&[Usage::new(10, 2), Usage::default()]),
            "2 answers, at least 10 tokens read, at least 2 written"
        );
        assert_eq!(
            tally(&[Usage::default()]),
            "1 answer, and not a word about how many tokens that took"
        );
    }
}

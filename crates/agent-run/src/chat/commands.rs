//! What a person types for the program itself.

use std::sync::PoisonError;

use agent_loop::Tally;
use agent_tiers::Surface;
use agent_tool_core::Dispatch as _;
use anyhow::Result;

use super::{
    crew::Crew,
    is_of_vibe,
    talk::Talk,
    tools::sentence,
    typed::{COMMANDS, Command, Vibe},
    without_workers,
};
use crate::style::{FAINT, STRONG, in_style};

impl Talk {
    /// Does what the person typed for the program itself.
    pub(super) async fn command(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Help => {
                for (name, what) in COMMANDS {
                    let name = in_style(STRONG, format!("{name:14}"));
                    self.screen.line(&format!("{name} {what}"));
                }
            }
            Command::Tools => self.tools(),
            Command::Surface(surface) => self.show_surface(surface),
            Command::Open(number) => self.turns.show(number),
            Command::Answer(answer) => match self.cards.answer(&answer) {
                Ok(said) | Err(said) => self.screen.line(&said),
            },
            Command::Trust => {
                let said = self.trust.said_by();
                self.screen.line(&match self.trust.is_trusted() {
                    true => format!("this checkout is trusted: {said}"),
                    false => format!(
                        "this checkout is not trusted: {said}. It is decided when a run begins: leave, and go on with `agent-run --trust chat --continue`"
                    ),
                });
            }
            Command::Cost => self.cost(),
            Command::Vibe(vibe) => self.vibe(vibe).await?,
            Command::Workers => self.workers(),
            Command::Quit => {}
        }
        Ok(())
    }

    fn tools(&self) {
        for spec in self.assembled.view.specs() {
            let name = in_style(STRONG, format!("{:12}", spec.name));
            let tier = in_style(FAINT, format!("{:5}", spec.tier.as_str()));
            self.screen.line(&format!("{name} {tier} {}", sentence(&spec)));
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

    fn workers(&self) {
        let rows = self.crew.as_ref().map(Crew::rows).unwrap_or_default();
        match rows.is_empty() {
            true => self.screen.line("there are no workers"),
            false => self.screen.rows(&rows),
        }
    }

    fn cost(&self) {
        let Tally { answers, input, output, cached, .. } = &self.tally;
        self.screen.line(&format!(
            "{answers} answers of {}: {input} tokens read, {cached} of them from a cache, {output} written",
            self.agent.model().name()
        ));
        let used = self.assembled.worker_usage.lock().unwrap_or_else(PoisonError::into_inner);
        for (worker, Tally { answers, input, output, .. }) in used.iter() {
            self.screen.line(&format!(
                "{worker}: {answers} answers, {input} tokens read, {output} written"
            ));
        }
    }
}

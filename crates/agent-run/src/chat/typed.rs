//! What a person types: something for the model, or a command.

use agent_tiers::Surface;

/// A line of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Nothing,
    Said(String),
    Command(Command),
    /// A command that is none, with what is wrong.
    Unknown(String),
}

/// Something for the program itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Tools,
    Surface(Surface),
    Vibe(Vibe),
    Workers,
    Open(Option<usize>),
    Answer(String),
    Cost,
    Trust,
    Quit,
}

/// Whether the model has workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vibe {
    On,
    Off,
}

/// The commands with what they do.
pub(crate) const COMMANDS: [(&str, &str); 12] = [
    ("/plan", "offer the model what reads, and nothing that changes or runs anything"),
    ("/full", "offer it all tools again"),
    ("/vibe on|off", "let it have workers, or end them"),
    ("/workers", "list the workers"),
    ("/tools", "list the tools that it is offered"),
    ("/open [N]", "show the whole of call N; alone, of the card that is up or of the last call"),
    ("/answer …", "answer the card that is up, also while you type"),
    ("/cost", "say how many tokens were used"),
    ("/trust", "say whether programs of this checkout may run, and what would change that"),
    ("/help", "list these"),
    ("/quit", "leave; Ctrl-D at a prompt does too"),
    ("//…", "say something that begins with /"),
];

/// What `/open` takes.
const OPEN_TAKES: &str = "/open takes the number of a call, such as /open 3; alone it shows the card that is up, or the last call";

impl Command {
    /// Whether it only looks, so that it can be done while the model works.
    pub(crate) fn looks(&self) -> bool {
        matches!(
            self,
            Command::Help
                | Command::Tools
                | Command::Workers
                | Command::Open(_)
                | Command::Cost
                | Command::Trust
        )
    }
}

impl Typed {
    pub(crate) fn read(line: &str) -> Self {
        let line = line.trim();
        if line.is_empty() {
            return Typed::Nothing;
        }
        let Some(command) = line.strip_prefix('/') else { return Typed::Said(line.to_owned()) };
        if command.starts_with('/') {
            return Typed::Said(command.to_owned());
        }
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim();
        let command = match (name, rest) {
            ("help", "") => Command::Help,
            ("tools", "") => Command::Tools,
            ("plan", "") => Command::Surface(Surface::Plan),
            ("full", "") => Command::Surface(Surface::Full),
            ("vibe", "on") => Command::Vibe(Vibe::On),
            ("vibe", "off") => Command::Vibe(Vibe::Off),
            ("workers", "") => Command::Workers,
            ("open", "") => Command::Open(None),
            ("open", number) => match number.parse() {
                Ok(number) => Command::Open(Some(number)),
                Err(_) => return Typed::Unknown(OPEN_TAKES.to_owned()),
            },
            ("answer", answer) => Command::Answer(answer.to_owned()),
            ("cost", "") => Command::Cost,
            ("trust", "") => Command::Trust,
            ("quit" | "exit", "") => Command::Quit,
            ("vibe", _) => return Typed::Unknown("/vibe takes on or off".to_owned()),
            (name, _) if COMMANDS.iter().any(|(command, _)| command[1..] == *name) => {
                return Typed::Unknown(format!("/{name} takes nothing behind it"));
            }
            _ => {
                return Typed::Unknown(format!("there is no command /{command}; /help lists them"));
            }
        };
        Typed::Command(command)
    }
}

/// The command that was typed behind a text which stood in its line before. That text is no part of it.
pub(crate) fn command_behind<'a>(before: &str, line: &'a str) -> Option<&'a str> {
    let command = line.strip_prefix(before)?.trim();
    let is_one = !before.is_empty() && matches!(Typed::read(command), Typed::Command(_));
    is_one.then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_for_the_model_or_for_the_program() {
        let cases = [
            ("", Typed::Nothing),
            ("  hello ", Typed::Said("hello".into())),
            ("/plan", Typed::Command(Command::Surface(Surface::Plan))),
            ("/vibe on", Typed::Command(Command::Vibe(Vibe::On))),
            ("/open", Typed::Command(Command::Open(None))),
            ("/open 12", Typed::Command(Command::Open(Some(12)))),
            ("/answer 1 and more", Typed::Command(Command::Answer("1 and more".into()))),
            ("//etc/hosts is wrong", Typed::Said("/etc/hosts is wrong".into())),
        ];
        for (line, expected) in cases {
            assert_eq!(Typed::read(line), expected, "{line}");
        }
        for (wrong, said) in [
            ("/etc/hosts", "there is no command /etc/hosts; /help lists them"),
            ("/vibe", "/vibe takes on or off"),
            ("/vibe up", "/vibe takes on or off"),
            ("/open x", OPEN_TAKES),
            ("/plan now", "/plan takes nothing behind it"),
            ("/cost all", "/cost takes nothing behind it"),
        ] {
            assert_eq!(Typed::read(wrong), Typed::Unknown(said.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn a_command_is_one_behind_a_half_line_too() {
        let half = "this is my next messa";
        assert_eq!(command_behind(half, &format!("{half}/answer no")), Some("/answer no"));
        assert_eq!(command_behind(half, &format!("{half}ge")), None);
        assert_eq!(command_behind("", "/open 1"), None);
        assert_eq!(command_behind("look in ", "look in /etc"), None);
    }
}

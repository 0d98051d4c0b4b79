//! What the tour prints: a transcript for a person, in colour on a terminal.

use std::io::IsTerminal;

use anyhow::{Result, bail};
use serde_json::{Value, json};

/// How many lines of one result are shown.
const SHOWN_LINES: usize = 40;

#[derive(Default)]
pub struct Page {
    chapters: u32,
    checks: u32,
    failed: Vec<String>,
}

impl Page {
    pub fn chapter(&mut self, title: &str) {
        self.chapters += 1;
        println!("\n{}", paint("1", &format!("{}. {title}", self.chapters)));
    }

    pub fn line(&mut self, text: &str) {
        println!("   {text}");
    }

    pub fn call(&mut self, name: &str, args: &Value) {
        println!("\n {} {} {}", paint("36", "▸"), paint("1", name), paint("2", &args.to_string()));
    }

    pub fn result(&mut self, result: &Value) {
        if let Some(message) = result["error"]["message"].as_str() {
            let code = result["error"]["code"].as_str().unwrap_or_default();
            println!("   {}", paint("31", code));
            self.lines(message);
        }
        for part in result["parts"].as_array().into_iter().flatten() {
            self.lines(part["text"].as_str().unwrap_or("(an image)"));
        }
    }

    fn lines(&mut self, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().take(SHOWN_LINES) {
            let colour = match line.as_bytes() {
                [b'+', ..] => "32",
                [b'-', ..] => "31",
                [b'@', b'@', ..] => "36",
                _ => "0",
            };
            println!("   {}", paint(colour, line));
        }
        if lines.len() > SHOWN_LINES {
            println!("   {}", paint("2", &format!("… {} more lines", lines.len() - SHOWN_LINES)));
        }
    }

    /// Answers a card as the person of the tour does: it allows, once.
    pub fn answer(&mut self, card: &Value) -> Value {
        let options = || card["options"].as_array().into_iter().flatten();
        let is_question = card["kind"] == "question";
        let (about, done) =
            if is_question { ("question", "the first") } else { ("permission", "allowed once") };
        let chosen = options().find(|option| is_question || option["effect"] == "allow_once");
        let labels: Vec<&str> = options().filter_map(|option| option["label"].as_str()).collect();
        println!(
            "   {} {}",
            paint("35", &format!("┌ {about}:")),
            card["title"].as_str().unwrap_or_default()
        );
        println!(
            "   {} {}",
            paint("35", "└"),
            paint("2", &format!("{} → {done}", labels.join(" · ")))
        );
        match chosen {
            Some(option) => json!({"type": "chosen", "options": [option["id"]]}),
            None => json!({"type": "withdrawn"}),
        }
    }

    pub fn check(&mut self, held: bool, what: &str) {
        self.checks += 1;
        if held {
            println!("   {} {what}", paint("32", "✓"));
        } else {
            println!("   {} {}", paint("31", "✗"), paint("31", what));
            self.failed.push(what.to_owned());
        }
    }

    pub fn close(self) -> Result<()> {
        if !self.failed.is_empty() {
            bail!(
                "{} of {} checks failed: {}",
                self.failed.len(),
                self.checks,
                self.failed.join("; ")
            );
        }
        println!("\n{}", paint("32", &format!("all {} checks held", self.checks)));
        Ok(())
    }
}

fn paint(colour: &str, text: &str) -> String {
    let shown = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if shown && colour != "0" { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
}

//! A model server from a script, for a person: `scripted-model SCRIPT.json [--port N] [--log FILE]`.
//!
//! It prints its address, notes on standard error what it is asked, and runs until it is interrupted. `--help` describes a script.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program tells its person what it is asked, and how it is used"
)]

use std::{io, path::PathBuf, process::ExitCode};

use agent_testkit::model::serve_file;

const USAGE: &str =
    "usage: scripted-model SCRIPT.json [--port N] [--log FILE]; --help describes a script";

const HELP: &str = r#"A model server on 127.0.0.1 that answers from a script, in Anthropic's and in OpenAI's format.

usage: scripted-model SCRIPT.json [--port N] [--log FILE]

  --port N    the port; a free one by default. The address is printed
  --log FILE  a line of JSON for each request, as it came

A script is {"rules": [...], "key": "..."}. A request is answered by the first rule that fits it and is not used up; where
none is left the answer is an error that says so. With "key" a request needs that key. All parts of a rule may be left out:

  when         what a request must have: "last" (a part of what was said since the last answer: by the person or as a result),
               "system", "model", "offered" (a tool), "not_offered"
  times        how often it answers: 1 by default, 0 without end
  wait_ms      milliseconds before anything comes; "until_file" waits for a file, "pace_ms" between two frames
  text         a text, or the list of the pieces in which it comes; "reasoning" the same before it
  calls        [{"name": "read", "args": {"path": "a.txt"}}]; "malformed" in the place of "args" is what comes in the place of JSON,
               "id" the provider's id
  usage        {"input": 10, "output": 2, "cached": 4}
  fail         the answer is this error: {"status": 429, "type": "rate_limit_error", "message": "...", "retry_after": "1"}
  break        {"after": 3, "how": "cut"}: so many frames come, then "cut", "end", "hang" or {"error": {"message": "..."}}
  stop, split  the reason of the end in the format's words; bytes of each write

A model that reads a file and then says what it saw, and is asked again and again:

  {"rules": [
    {"when": {"last": "look"}, "times": 0, "calls": [{"name": "read", "args": {"path": "a.txt"}}]},
    {"times": 0, "text": "I have seen it."}
  ]}

  provider = "compatible", url = "http://127.0.0.1:PORT/v1" and any name reach it as a [model] of agent-run.
"#;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> io::Result<()> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, USAGE);
    let (mut script, mut port, mut log) = (None, 0, None);
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--help" | "-h") => {
                print!("{HELP}");
                return Ok(());
            }
            Some("--port") => {
                let number = args.next().and_then(|number| number.to_str()?.parse().ok());
                port = number.ok_or_else(wrong)?;
            }
            Some("--log") => log = Some(PathBuf::from(args.next().ok_or_else(wrong)?)),
            Some(option) if option.starts_with('-') => return Err(wrong()),
            _ if script.is_none() => script = Some(PathBuf::from(arg)),
            _ => return Err(wrong()),
        }
    }
    let server = serve_file(&script.ok_or_else(wrong)?, port, log.as_deref())?;
    let mut told = 0;
    let watched = async {
        server
            .until(|log| {
                for request in log.requests.iter().skip(told) {
                    eprintln!("{} {} with {}", told + 1, request.path, request.tools().join(", "));
                    told += 1;
                }
                false
            })
            .await
    };
    tokio::runtime::Builder::new_current_thread().build()?.block_on(watched);
    Ok(())
}

#[cfg(test)]
mod tests {
    use agent_testkit::model::Script;

    use super::HELP;

    #[test]
    fn what_the_help_describes_is_a_script() {
        let begin = HELP.find("  {\"rules\": [\n").expect("an example");
        let (example, _) = HELP[begin..].split_once("\n\n").expect("its end");
        let script: Script = serde_json::from_str(example).expect("a script");
        assert_eq!(script.rules.len(), 2);
        let all = serde_json::json!({
            "when": {"last": "a", "system": "b", "model": "c", "offered": "d", "not_offered": "e"},
            "times": 0, "wait_ms": 1, "until_file": "f", "pace_ms": 1, "text": ["a", "b"], "reasoning": "c",
            "calls": [{"name": "read", "args": {}}, {"name": "read", "malformed": "{", "id": "x"}],
            "usage": {"input": 10, "output": 2, "cached": 4},
            "fail": {"status": 429, "type": "rate_limit_error", "message": "slow", "retry_after": "1"},
            "break": {"after": 3, "how": {"error": {"message": "so"}}}, "stop": "end_turn", "split": 3,
        });
        for name in all.as_object().expect("an object").keys() {
            assert!(HELP.contains(name.as_str()), "{name}");
        }
        let script = serde_json::json!({"key": "k", "rules": [all]});
        assert!(serde_json::from_value::<Script>(script).is_ok());
    }
}

//! The tool as a model sees it.

use agent_process::{Guard, Launcher, Prefix};
use agent_shell::Shell;
use agent_tool_core::{Context, Tier};
use serde_json::json;

use crate::support::Checkout;

#[test]
fn the_spec_is_portable_and_of_tier_exec() {
    let checkout = Checkout::new();
    let tool = checkout.shell.tool();
    assert_eq!(agent_testkit::spec_faults(tool.spec()), Vec::<String>::new());
    assert_eq!((tool.spec().tier, tool.spec().parallel), (Tier::Exec, false));
}

#[tokio::test]
async fn a_result_has_text_for_the_model_and_data_for_the_host() {
    let checkout = Checkout::new();
    let tool = checkout.shell.tool();
    let args = json!({"command": "echo out; echo err >&2; echo x > made.txt; exit 7"});
    let output = tool.call(args, &Context::detached()).await.unwrap();
    let text = output.joined_text();
    assert!(text.starts_with("out\nerr\n[exit code 7 after "), "{text}");
    assert!(text.ends_with(" s]\n1 file changed: +made.txt"), "{text}");
    assert_eq!(output.data["ending"], json!({"how": "exited", "code": 7}));
    assert_eq!(output.data["output"], "out\nerr\n");
    assert_eq!(output.changes[0].path, "made.txt");
}

#[tokio::test]
async fn a_model_reads_what_a_terminal_would_show_and_a_host_what_was_written() {
    let checkout = Checkout::new();
    let tool = checkout.shell.tool();
    let args = json!({"command": r"printf '\r 10%%\r100%%\n\033[31mred\033[0m\n'"});
    let output = tool.call(args, &Context::detached()).await.unwrap();
    let text = output.joined_text();
    assert!(text.starts_with("100%\nred\n[exit code 0 after "), "{text}");
    assert_eq!(output.data["output"], "\r 10%\r100%\n\u{1b}[31mred\u{1b}[0m\n");
    assert_eq!(output.data["ran_in"], json!(null));
}

#[tokio::test]
async fn a_result_names_the_sandbox_that_it_is_of() {
    let checkout = Checkout::new();
    let workspace = agent_workspace::Workspace::open(checkout.path()).unwrap();
    let down = Prefix::parse("false").unwrap();
    let shell = Shell::new(workspace, Launcher::new(Guard::new()).sandbox(down));
    let name = shell.sandbox_name().to_owned();
    let output = shell.tool().call(json!({"command": "true"}), &Context::detached()).await.unwrap();
    let text = output.joined_text();
    assert!(text.starts_with("[exit code 1 after "), "{text}");
    assert!(text.contains(&format!(" s, in the sandbox {name}]")), "{text}");
    assert_eq!(output.data["ran_in"], json!(name));
}

#[tokio::test]
async fn the_preview_shows_the_whole_command_and_where_it_runs() {
    let checkout = Checkout::new();
    let tool = checkout.shell.tool();
    let args = json!({"command": "rm -rf build\nmake", "cwd": "sub"});
    let preview = tool.preview(&args, &Context::detached()).await.unwrap();
    assert_eq!(preview.title, "shell: rm -rf build make");
    assert_eq!(preview.body, "rm -rf build\nmake\n\non this machine, in sub");
    // One line is read once, though it takes several rows.
    let line = "echo ".repeat(80) + "end";
    let preview = tool.preview(&json!({"command": line}), &Context::detached()).await.unwrap();
    assert_eq!(preview.title, format!("shell: {line}"));
    assert_eq!(preview.body, "on this machine, in the working directory");
    let line = "echo ".repeat(200) + "end";
    let preview = tool.preview(&json!({"command": line}), &Context::detached()).await.unwrap();
    assert!(preview.title.ends_with("… 903 more characters"), "{}", preview.title);
    assert_eq!(preview.body, format!("{line}\n\non this machine, in the working directory"));
}

#[tokio::test]
async fn wrong_arguments_say_what_is_taken_and_run_nothing() {
    let checkout = Checkout::new().with("file.txt", "");
    let tool = checkout.shell.clone().tool();
    let cases = [
        (json!({"command": "  "}), "invalid_args", "`command` is empty"),
        (json!({"command": "a\u{0}b"}), "invalid_args", "null byte"),
        (json!({"command": "x".repeat(70_000)}), "invalid_args", "70000 bytes"),
        (json!({"command": "touch ran", "timeout": 0}), "invalid_args", "takes 1 to 1800 seconds"),
        (json!({"command": "touch ran", "timeout": 9999}), "invalid_args", "came as 9999"),
        (json!({"command": "touch ran", "cwd": "none"}), "not_found", "none"),
        (json!({"command": "touch ran", "cwd": "../"}), "outside_workspace", ".."),
        (json!({"command": "touch ran", "cwd": "file.txt"}), "not_a_directory", "file.txt"),
    ];
    for (args, code, words) in cases {
        let error = tool.call(args.clone(), &Context::detached()).await.unwrap_err();
        assert_eq!(error.code, code, "{args}: {}", error.message);
        assert!(error.message.contains(words), "{args}: {}", error.message);
    }
    assert!(!checkout.path().join("ran").exists());
}

#[tokio::test]
async fn a_sandbox_that_refuses_is_an_error_and_nothing_runs_outside() {
    #[derive(Debug)]
    struct Refuses;
    impl agent_process::Sandbox for Refuses {
        fn name(&self) -> &str {
            "box"
        }
        fn rewrite(&self, _: agent_process::Command) -> Result<agent_process::Command, String> {
            Err("it is down".to_owned())
        }
    }
    let checkout = Checkout::new();
    let workspace = agent_workspace::Workspace::open(checkout.path()).unwrap();
    let shell = Shell::new(workspace, Launcher::new(Guard::new()).sandbox(Refuses));
    let tool = shell.tool();
    let error = tool.call(json!({"command": "touch ran"}), &Context::detached()).await.unwrap_err();
    assert_eq!(error.code, "sandbox_refused");
    assert!(error.message.contains("it is down"), "{}", error.message);
    assert!(!checkout.path().join("ran").exists());
}

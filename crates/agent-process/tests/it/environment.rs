use std::{collections::BTreeMap, ffi::OsStr, process::Command};

use agent_process::{EnvironmentRule, MARK_VARIABLE};

use crate::support::{Count, ROLE, TRIAL, own_program};

const SECRETS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_API_KEY_2",
    "openai_api_key",
    "GEMINI_APIKEY",
    "GH_TOKEN",
    "HF_TOKEN",
    "NPM_AUTH",
    "GITHUB_PAT",
    "npm_config__authToken",
    "CARGO_REGISTRIES_OURS_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_CONNECTION_STRING",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "SSH_PRIVATE_KEY",
    "PGPASSWORD",
    "MYSQL_PWD",
    "GPG_PASSPHRASE",
    "TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
];

const HARMLESS: &[&str] = &[
    "PATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "LANG",
    "SSH_AUTH_SOCK",
    "TOKENIZERS_PARALLELISM",
    "KEYBOARD",
    "PASSENGER_APP_ENV",
    "SECRETARY",
    "CARGO_TARGET_DIR",
    "VIRTUAL_ENV",
    "GOPATH",
    "HTTPS_PROXY",
    "XAUTHORITY",
];

pub(crate) fn names_that_read_like_secrets_are_taken_away() {
    let rule = EnvironmentRule::new();
    let passes = |names: &[&'static str]| {
        names.iter().copied().filter(|name| rule.passes(OsStr::new(name))).collect::<Vec<_>>()
    };
    assert_eq!(passes(SECRETS), [""; 0]);
    assert_eq!(passes(HARMLESS), HARMLESS);
}

pub(crate) fn a_host_adds_names_and_keeps_names() {
    let rule = EnvironmentRule::new()
        .remove("OUR_PROVIDER")
        .remove("BOTH_TOKEN")
        .keep("BOTH_TOKEN")
        .keep("MAX_OUTPUT_TOKENS");
    let given = ["OUR_PROVIDER", "BOTH_TOKEN", "MAX_OUTPUT_TOKENS", "OTHER_TOKENS", "HOME"];
    let applied = rule.apply(given.map(|name| (name.into(), "v".into())));
    let names: Vec<_> = applied.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    assert_eq!(names, ["MAX_OUTPUT_TOKENS", "HOME"]);
}

/// TRUST-04: a program that has keys in its environment starts a child that prints its own.
pub(crate) fn a_child_sees_no_key_and_what_its_caller_sets() {
    let count = Count::new();
    let secrets = SECRETS.iter().map(|name| (*name, "a-key"));
    let output = Command::new(own_program())
        .env(ROLE, "prints-childs-environment")
        .env(TRIAL, count.name())
        .env("HARMLESS", "stays")
        .envs(secrets)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let child: BTreeMap<&str, &str> =
        text.lines().filter_map(|line| line.split_once('=')).collect();
    assert_eq!(text.matches("a-key").count(), 0, "{text}");
    assert_eq!(child.get("HARMLESS"), Some(&"stays"));
    assert_eq!(child.get("SET_BY_CALLER_TOKEN"), Some(&"passes"));
    assert!(child[MARK_VARIABLE].contains('.'), "{text}");
}

/// TRUST-04: who may not look into a program does not read its environment; what it starts may be debugged.
pub(crate) fn a_closed_program_is_closed_and_what_it_starts_is_not() {
    let count = Count::new();
    let output =
        Command::new(own_program()).env(ROLE, "closed").env(TRIAL, count.name()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    if cfg!(target_os = "linux") {
        assert_eq!(said, "Dumpable\nNotDumpable\nDumpable\n");
    }
}

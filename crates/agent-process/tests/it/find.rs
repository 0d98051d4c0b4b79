use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agent_process::{
    Finder, Found, Missing, Place, Trust, Wanted,
    find::{Origin, Why},
};

use crate::support::{launcher, run};

/// A machine in small: a checkout, folders on the search path, programs that are scripts.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["checkout", "bin", "more"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn program(&self, path: &str, script: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn finder(&self) -> Finder {
        self.finder_on(&["bin"])
    }

    fn finder_on(&self, folders: &[&str]) -> Finder {
        let path = env::join_paths(folders.iter().map(|folder| self.at(folder))).unwrap();
        Finder::new(launcher()).search_path(path)
    }

    fn place(&self, trust: Trust) -> Place {
        Place::new([self.at("checkout")]).trust(trust)
    }
}

fn told(answer: &Result<Found, Missing>) -> String {
    match answer {
        Ok(found) => found.path.display().to_string(),
        Err(missing) => missing.to_string(),
    }
}

fn file_name(found: &Found) -> &str {
    found.path.file_name().unwrap().to_str().unwrap()
}

pub(crate) fn the_first_that_answers_is_taken_in_the_order_of_the_search() {
    let machine = Machine::new();
    let local = machine.program("checkout/node_modules/.bin/server", "echo local 1");
    let on_path = machine.program("bin/server", "echo path 2");
    let other = machine.program("bin/other", "echo >&2; echo other 3 >&2");
    let more = machine.program("more/server", "echo more 4");
    let wanted = Wanted::new("server")
        .or("other")
        .local(".venv/bin")
        .local("node_modules/.bin")
        .also_in(machine.at("more"));
    let place = machine.place(Trust::Trusted);
    run(async {
        let finder = machine.finder();
        let order = [
            (&local, Origin::Local, "local 1"),
            (&on_path, Origin::SearchPath, "path 2"),
            (&other, Origin::SearchPath, "other 3"),
            (&more, Origin::MoreFolders, "more 4"),
        ];
        for (path, origin, version) in order {
            let found = finder.find(&wanted, &place).await.unwrap();
            assert_eq!(
                (&found.path, found.origin, found.version.as_str()),
                (path, origin, version)
            );
            fs::remove_file(path).unwrap();
            finder.forget();
        }
        let missing = finder.find(&wanted, &place).await.unwrap_err();
        assert_eq!(
            missing.to_string(),
            "server or other was not found; install it or put it on the search path"
        );
    });
}

/// TRUST-02: the binary of an untrusted checkout is not started, and the answer says that it is there.
pub(crate) fn a_local_program_needs_trust_and_is_named_without_it() {
    let machine = Machine::new();
    let ran = machine.at("ran");
    let script = format!("touch {}; echo 1", ran.display());
    let local = machine.program("checkout/.venv/bin/server", &script);
    let wanted = Wanted::new("server").local(".venv/bin");
    run(async {
        let finder = machine.finder();
        let missing = finder.find(&wanted, &machine.place(Trust::Untrusted)).await.unwrap_err();
        assert_eq!(
            missing.to_string(),
            format!(
                "server cannot be used: {} is there but the checkout is not trusted; trusting it would use it",
                local.display()
            )
        );
        assert!(!ran.exists());
        let on_path = machine.program("bin/server", "echo 2");
        finder.forget();
        let found = finder.find(&wanted, &machine.place(Trust::Untrusted)).await.unwrap();
        assert_eq!(found.path, on_path);
        assert_eq!(found.passed_over[0].path, local);
        assert_eq!(found.passed_over[0].why, Why::NotTrusted);
        assert!(!ran.exists());
        let found = finder.find(&wanted, &machine.place(Trust::Trusted)).await.unwrap();
        assert_eq!((found.path, found.passed_over), (local, vec![]));
        assert!(ran.exists());
    });
}

pub(crate) fn a_search_path_through_the_checkout_finds_nothing_in_it_without_trust() {
    let machine = Machine::new();
    let inside = machine.program("checkout/tools/server", "echo inside");
    symlink(machine.at("checkout/tools"), machine.at("linked")).unwrap();
    symlink(&inside, machine.at("more/server")).unwrap();
    symlink(machine.at("checkout"), machine.at("spelt-otherwise")).unwrap();
    let wanted = Wanted::new("server");
    let place = Place::new([machine.at("spelt-otherwise")]);
    run(async {
        for folder in ["checkout/tools", "linked", "more"] {
            let finder = machine.finder_on(&[folder]);
            let missing = finder.find(&wanted, &place).await.unwrap_err();
            let why: Vec<_> = missing.passed_over.iter().map(|one| one.why.clone()).collect();
            assert_eq!(why, [Why::NotTrusted], "{folder}");
            let trusted = place.clone().trust(Trust::Trusted);
            let found = finder.find(&wanted, &trusted).await.unwrap();
            assert_eq!(found.version, "inside", "{folder}");
        }
        let relative = Finder::new(launcher()).search_path(":tools:./tools");
        for trust in [Trust::Untrusted, Trust::Trusted] {
            let missing = relative.find(&wanted, &place.clone().trust(trust)).await.unwrap_err();
            assert_eq!(missing.passed_over, []);
        }
    });
}

/// What is older under the same name may be something else, and the next of the search may be the right one.
pub(crate) fn a_program_that_is_too_old_is_passed_over() {
    let machine = Machine::new();
    machine.program("bin/tool", "echo 'Version 5.9.3'");
    machine.program("more/tool", "echo 'tool 10.0.1-beta (abc1234)'");
    machine.program("bin/mute", "exit 0");
    let old = machine.at("bin/tool").display().to_string();
    let mute = machine.at("bin/mute").display().to_string();
    run(async {
        let finder = machine.finder();
        let wanted = |least: &str| Wanted::new("tool").also_in(machine.at("more")).at_least(least);
        let find =
            async |wanted: Wanted| finder.find(&wanted, &machine.place(Trust::Untrusted)).await;
        for (least, taken) in
            [("5", "bin/tool"), ("5.9", "bin/tool"), ("5.10", "more/tool"), ("10", "more/tool")]
        {
            assert_eq!(find(wanted(least)).await.unwrap().path, machine.at(taken), "{least}");
        }
        let found = find(wanted("7")).await.unwrap();
        let expected = format!("{old} is Version 5.9.3, and it has to be 7 or newer");
        assert_eq!(found.passed_over[0].to_string(), expected);
        let missing = find(wanted("10.0.2")).await.unwrap_err();
        assert_eq!(missing.passed_over.len(), 2);
        let missing = find(Wanted::new("mute").at_least("1")).await.unwrap_err();
        let expected =
            format!("mute cannot be used: {mute} prints no version, and it has to be 1 or newer");
        assert_eq!(missing.to_string(), expected);
    });
}

/// A proxy that exists and cannot run what it stands for, a file without its bit, a program that hangs.
pub(crate) fn a_program_that_exists_and_fails_says_why() {
    let machine = Machine::new();
    machine.program(
        "bin/proxy",
        "echo 'error: the component is not installed' >&2; echo help >&2; exit 1",
    );
    machine.program("bin/quiet", "echo usage; exit 64");
    machine.program("bin/signal", "kill -9 $$");
    machine.program("bin/hangs", "sleep 100");
    machine.program("bin/script", "x");
    fs::write(machine.at("bin/script"), "#!/no/such/thing\n").unwrap();
    fs::write(machine.at("bin/plain"), "x").unwrap();
    let bin = machine.at("bin").display().to_string();
    let cases = [
        (
            "proxy",
            format!(
                "{bin}/proxy is there, and when it was tried it exited with code 1; error: the component is not installed; help"
            ),
        ),
        (
            "quiet",
            format!("{bin}/quiet is there, and when it was tried it exited with code 64; usage"),
        ),
        (
            "signal",
            format!("{bin}/signal is there, and when it was tried it ended by signal 9 (SIGKILL)"),
        ),
        ("hangs", format!("{bin}/hangs did not answer in 0.5 s")),
        ("plain", format!("{bin}/plain may not be executed")),
        ("script", format!("{bin}/script names an interpreter that does not exist: ")),
    ];
    run(async {
        let finder = machine.finder();
        for (name, expected) in cases {
            let time = Duration::from_millis(if name == "hangs" { 500 } else { 20_000 });
            let wanted = Wanted::new(name).probe_time(time);
            let answer = finder.find(&wanted, &machine.place(Trust::Untrusted)).await;
            let said = told(&answer);
            assert!(
                said.starts_with(&format!("{name} cannot be used: {expected}")),
                "{name}: {said}"
            );
        }
        let both = Wanted::new("plain").or("quiet");
        let said = told(&finder.find(&both, &machine.place(Trust::Untrusted)).await);
        assert_eq!(said.lines().count(), 3, "{said}");
        let second = Wanted::new("proxy").or("fine");
        machine.program("bin/fine", "echo fine");
        let found = finder.find(&second, &machine.place(Trust::Untrusted)).await.unwrap();
        assert_eq!((file_name(&found), found.passed_over.len()), ("fine", 1));
    });
}

/// `/bin` is a link to `/usr/bin` mostly, and a program has several names there.
pub(crate) fn a_reason_that_several_share_is_said_once() {
    let machine = Machine::new();
    for (name, lacks) in [("bin/python3", "it lacks a part"), ("more/python", "it lacks a part")] {
        machine.program(name, &format!("echo {lacks}; exit 1"));
    }
    machine.program("bin/python", "echo something else; exit 1");
    symlink(machine.at("bin"), machine.at("again")).unwrap();
    let shown = |path: &str| machine.at(path).display().to_string();
    run(async {
        let finder = machine.finder_on(&["bin", "again", "more"]);
        let wanted = Wanted::new("python3").or("python");
        let said = told(&finder.find(&wanted, &machine.place(Trust::Untrusted)).await);
        let tried = "is there, and when it was tried it exited with code 1;";
        let expected = format!(
            "python3 or python cannot be used:\n- {} {tried} it lacks a part\n- the same holds for {}\n- {} {tried} something else",
            shown("bin/python3"),
            shown("more/python"),
            shown("bin/python"),
        );
        assert_eq!(said, expected);
    });
}

pub(crate) fn a_configured_program_is_the_only_one_tried() {
    let machine = Machine::new();
    machine.program("bin/server", "echo path");
    machine.program("bin/named", "echo named");
    let elsewhere = machine.program("more/special", "echo special");
    let inside = machine.program("checkout/server", "echo inside");
    let wanted = |path: &Path| Wanted::new("server").configured(path);
    let shown = |path: &str| machine.at(path).display().to_string();
    run(async {
        let finder = machine.finder();
        let place = machine.place(Trust::Untrusted);
        for (configured, version) in
            [(elsewhere.as_path(), "special"), (Path::new("named"), "named")]
        {
            let found = finder.find(&wanted(configured), &place).await.unwrap();
            assert_eq!((found.version.as_str(), found.origin), (version, Origin::Configured));
        }
        let cases = [
            (machine.at("none"), format!("{} is configured and does not exist", shown("none"))),
            ("gone".into(), "gone is configured and does not exist".to_owned()),
            (
                machine.at("more"),
                format!("{} is configured and is a folder; name the program in it", shown("more")),
            ),
            (
                "./server".into(),
                "./server is configured; it has to be an absolute path or a name".to_owned(),
            ),
            (
                inside,
                format!(
                    "{} is there but the checkout is not trusted; trusting it would use it",
                    shown("checkout/server")
                ),
            ),
        ];
        for (configured, said) in cases {
            let missing = finder.find(&wanted(&configured), &place).await.unwrap_err();
            assert_eq!(missing.to_string(), format!("server cannot be used: {said}"));
        }
    });
}

pub(crate) fn the_highest_number_is_taken_after_the_mere_names() {
    let machine = Machine::new();
    for name in ["bin/dap-9", "bin/dap-19", "bin/dap-x", "bin/dap-20-old"] {
        machine.program(name, "echo 1");
    }
    machine.program("bin/dap-21", "exit 1");
    machine.program("more/dap-20", "echo 1");
    let wanted = Wanted::new("dap").or_numbered().also_in(machine.at("more"));
    run(async {
        let finder = machine.finder();
        let place = machine.place(Trust::Untrusted);
        let found = finder.find(&wanted, &place).await.unwrap();
        assert_eq!((file_name(&found), found.origin), ("dap-20", Origin::MoreFolders));
        assert_eq!(found.passed_over[0].path, machine.at("bin/dap-21"));
        machine.program("more/dap", "echo 1");
        finder.forget();
        assert_eq!(file_name(&finder.find(&wanted, &place).await.unwrap()), "dap");
    });
}

pub(crate) fn twenty_that_ask_at_once_probe_once_and_forget_asks_again() {
    let machine = Machine::new();
    let log = machine.at("log");
    machine.program("bin/server", &format!("echo probed >> {}; sleep 0.2; echo 1", log.display()));
    let probes = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    run(async {
        let finder = machine.finder();
        let wanted = Arc::new(Wanted::new("server"));
        let place = Arc::new(machine.place(Trust::Untrusted));
        let ask = || {
            let (finder, wanted, place) = (finder.clone(), wanted.clone(), place.clone());
            tokio::spawn(async move { finder.find(&wanted, &place).await.unwrap().version })
        };
        let asked: Vec<_> = (0..20).map(|_| ask()).collect();
        for answer in asked {
            assert_eq!(answer.await.unwrap(), "1");
        }
        assert_eq!(probes(), 1);
        finder.forget();
        ask().await.unwrap();
        assert_eq!(probes(), 2);

        // The one that probes is dropped: the next one takes over.
        finder.forget();
        let first = ask();
        while probes() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let second = ask();
        first.abort();
        assert_eq!(second.await.unwrap(), "1");
        assert_eq!(probes(), 4);
    });
}

pub(crate) fn a_probe_runs_in_a_neutral_folder_and_ends_in_time() {
    let machine = Machine::new();
    machine.program("bin/where", "pwd; echo \"$@\" >&2");
    machine.program("bin/daemon", "sleep 100 & echo started");
    run(async {
        let finder = machine.finder();
        let place = machine.place(Trust::Untrusted);
        let found = finder.find(&Wanted::new("where"), &place).await.unwrap();
        assert_eq!(found.version, "/");
        let asked = Wanted::new("where").probe(["-I", "-c", "import debugpy"]);
        assert_eq!(finder.find(&asked, &place).await.unwrap().version, "/");
        let daemon = finder.find(&Wanted::new("daemon"), &place).await.unwrap();
        assert_eq!(daemon.version, "started");
        machine.program("bin/never", "exit 9");
        let unprobed = finder.find(&Wanted::new("never").unprobed(), &place).await.unwrap();
        assert_eq!(unprobed.version, "");
    });
}

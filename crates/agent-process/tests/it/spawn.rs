use std::{fs, io::Write, os::unix::fs::PermissionsExt, time::Duration};

use agent_process::{
    Command, ErrorKind, ExitReport, Input, MAX_TAIL_LINE_CHARS, MAX_TAIL_LINES, Output, Program,
    RunLimits, Sandbox, ShutdownStep, ShutdownSteps, Tree,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Count, ids, launcher, lives, own_program, ready, run, stat, until};

/// The leader and its four (see `roles::family`).
const FAMILY: usize = 5;

const SOON: Duration = Duration::from_secs(3);

pub(crate) fn an_exit_is_reported_with_code_signal_and_the_end_of_stderr() {
    run(async {
        let count = Count::new();
        let process = launcher().spawn(&count.child("stderr 3 2")).await.unwrap();
        let report = process.wait().await;
        assert_eq!((report.code, report.signal), (Some(3), None));
        assert_eq!(report.to_string(), "exited with code 3\n> 01\n> 02\n> 03");
        assert_eq!(process.exited(), Some(report));

        let process = launcher().spawn(&count.child("sleep")).await.unwrap();
        ready(&process).await;
        let mut watch = process.exit_watch();
        assert_eq!(process.tree().kill(), 1);
        let report = watch.wait().await;
        assert_eq!((report.code, report.signal, report.success()), (None, Some(9), false));
        assert_eq!(report.to_string(), "ended by signal 9 (SIGKILL)");

        let process = launcher().spawn(&count.child("sleep")).await.unwrap();
        ready(&process).await;
        let mut watch = process.exit_watch();
        drop(process);
        assert_eq!(watch.wait().await.signal, Some(9), "a dropped handle is reported to who waits");
    });
}

/// Twenty thousand lines, more than any pipe holds; and lines of ten thousand characters.
pub(crate) fn a_tail_keeps_the_last_lines_of_any_output() {
    run(async {
        let count = Count::new();
        let process = launcher().spawn(&count.child("stderr 20000 100")).await.unwrap();
        let report = process.wait().await;
        assert_eq!(process.tail().total(), 20_000);
        assert_eq!(report.stderr.len(), MAX_TAIL_LINES);
        assert_eq!(report.stderr.last(), Some(&format!("{:0100}", 20_000)));

        let process = launcher().spawn(&count.child("stderr 2 10000")).await.unwrap();
        process.wait().await;
        let zeros = "0".repeat(MAX_TAIL_LINE_CHARS);
        assert_eq!(process.tail().lines(), vec![format!("{zeros} … 9600 more bytes"); 2]);

        let program = count.child("environment").stdout(Output::Tail);
        let process = launcher().spawn(&program).await.unwrap();
        assert!(process.take_stdout().is_none());
        process.wait().await;
        assert!(process.tail().total() > 0);
    });
}

pub(crate) fn a_shutdown_goes_only_as_far_as_it_must() {
    let short = Duration::from_millis(200);
    let patient = ShutdownSteps::new().after_stdin(SOON * 10).after_term(SOON * 10);
    let hasty = ShutdownSteps::new().after_stdin(short).after_term(short).after_kill(SOON * 3);
    let hasty_then_patient = hasty.after_term(SOON * 10);
    let cases = [
        ("until-eof", patient, ShutdownStep::Stdin, Some(0), None, 0),
        ("family-until-eof", patient, ShutdownStep::Stdin, Some(0), None, FAMILY - 1),
        ("sleep", hasty_then_patient, ShutdownStep::Term, None, Some(15), 0),
        ("deaf", hasty, ShutdownStep::Kill, None, Some(9), 1),
    ];
    run(async {
        for (role, steps, by, code, signal, killed) in cases {
            let count = Count::new();
            let process = launcher().spawn(&count.child(role)).await.unwrap();
            ready(&process).await;
            let shutdown = process.shutdown(&steps).await;
            assert_eq!((shutdown.by, shutdown.killed), (by, killed), "{role}");
            let exit = shutdown.exit.expect(role);
            assert_eq!((exit.code, exit.signal), (code, signal), "{role}");
            assert_eq!((shutdown.left, count.living()), (vec![], vec![]), "{role}");
            assert_eq!(process.shutdown(&steps).await.by, ShutdownStep::Already, "{role}");
        }
        let count = Count::new();
        let process = launcher().spawn(&count.child("until-eof")).await.unwrap();
        ready(&process).await;
        drop(process.take_stdin());
        process.wait().await;
        assert_eq!(process.shutdown(&patient).await.by, ShutdownStep::Already);
    });
}

/// The leader has ended and is reaped; what it started has moved to groups and sessions of its own.
pub(crate) fn what_a_process_leaves_behind_is_killed_with_it() {
    run(async {
        let count = Count::new();
        let process = launcher().spawn(&count.child("family-exit")).await.unwrap();
        ready(&process).await;
        assert_eq!(process.wait().await.code, Some(0));
        // The one without the mark is found by its parent alone, and that has ended.
        let mut marked = count.living();
        marked.retain(|id| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap();
            String::from_utf8_lossy(&environment).contains(agent_process::MARK_VARIABLE)
        });
        assert_eq!((count.living().len(), marked.len()), (FAMILY - 1, FAMILY - 2));
        assert_eq!(process.tree().members(), marked);
        let unmarked = count.living().into_iter().find(|id| !marked.contains(id)).unwrap();
        let shutdown = process.shutdown(&ShutdownSteps::new()).await;
        assert_eq!((shutdown.by, shutdown.killed), (ShutdownStep::Already, FAMILY - 2));
        assert_eq!(count.living(), [unmarked]);
        assert_eq!(Tree::of(unmarked).unwrap().kill(), 1);
        count.none_is_left();
    });
}

pub(crate) fn a_dropped_handle_kills_the_whole_tree_and_leaves_no_zombie() {
    run(async {
        let count = Count::new();
        let process = launcher().spawn(&count.child("family")).await.unwrap();
        ready(&process).await;
        let id = process.id();
        assert_eq!(count.living().len(), FAMILY);
        drop(process);
        count.none_is_left();
        until("the leader is reaped", || stat(id).is_none());
        let own = std::process::id().to_string();
        let zombie = |id: &u32| stat(*id).is_some_and(|stat| stat[0] == "Z" && stat[1] == own);
        until("no zombie of ours is left", || !ids().any(|id| zombie(&id)));
    });
}

pub(crate) fn a_tree_is_found_wherever_it_moved() {
    run(async {
        let count = Count::new();
        let process = launcher().spawn(&count.child("family")).await.unwrap();
        ready(&process).await;
        assert_eq!(process.tree().members(), count.living());
        let group = |id: &u32| stat(*id).unwrap()[2].parse::<u32>().unwrap();
        let inside = count.living().iter().filter(|id| group(id) == process.id()).count();
        assert_eq!(inside, 2, "the leader and one of its children");
        process.tree().terminate();
        count.none_is_left();
        assert!(process.tree().members().is_empty());
        assert!(Tree::of(process.id()).is_none());
    });
}

/// The child has a launcher, a guard and families itself; killing it from here takes all of them along.
pub(crate) fn a_program_with_children_of_its_own_hides_nothing() {
    run(async {
        let count = Count::new();
        let program = count.child("owner program family deaf family-until-eof");
        let process = launcher().spawn(&program).await.unwrap();
        let line = ready(&process).await;
        let guard: u32 = line.strip_prefix("ready ").unwrap().parse().unwrap();
        assert_eq!(count.living().len(), 1 + 2 * FAMILY + 1);
        assert!(lives(guard));
        drop(process);
        count.none_is_left();
        until("its guard is gone", || !lives(guard));
    });
}

pub(crate) fn an_interrupt_reaches_the_group() {
    run(async {
        let count = Count::new();
        let process = launcher().spawn(&count.child("interrupted")).await.unwrap();
        ready(&process).await;
        process.tree().interrupt();
        assert_eq!(process.wait().await.code, Some(130));
    });
}

pub(crate) fn what_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    let script = folder.path().join("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let shown = |name: &str| folder.path().join(name).display().to_string();
    let cases = [
        (
            Program::new("sh", "/"),
            ErrorKind::NotAbsolute,
            "sh is not an absolute path; look the program up before it is started".to_owned(),
        ),
        (
            Program::new("/bin/sh", folder.path().join("none")),
            ErrorKind::NoFolder,
            format!("{} is no folder, so /bin/sh was not started there", shown("none")),
        ),
        (
            Program::new(folder.path().join("none"), "/"),
            ErrorKind::NotFound,
            format!("{} does not exist", shown("none")),
        ),
        (
            Program::new(&plain, "/"),
            ErrorKind::NotExecutable,
            format!("{} may not be executed", shown("plain")),
        ),
        (
            Program::new(&script, "/"),
            ErrorKind::NotFound,
            format!("{} names an interpreter that does not exist", shown("script")),
        ),
    ];
    run(async {
        for (program, kind, message) in cases {
            let error = launcher().spawn(&program).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().starts_with(&message), "{error}");
        }
    });
}

#[derive(Debug)]
struct Renamed;

impl Sandbox for Renamed {
    fn name(&self) -> &str {
        "renamed"
    }

    fn rewrite(&self, mut command: Command) -> Result<Command, String> {
        if command.args.is_empty() {
            return Err("it has no arguments".to_owned());
        }
        command.args.insert(0, command.program.into());
        command.program = "/usr/bin/env".into();
        command.environment.insert("IN_SANDBOX".into(), "yes".into());
        Ok(command)
    }
}

pub(crate) fn a_sandbox_rewrites_each_command_or_refuses_it() {
    run(async {
        let launcher = launcher().sandbox(Renamed);
        let count = Count::new();
        let program = count.child("environment").arg("x");
        let output = launcher.run(&program, &RunLimits::new()).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("IN_SANDBOX=yes"), "{text}");
        assert!(text.contains(agent_process::MARK_VARIABLE), "{text}");
        let error = launcher.spawn(&count.child("environment")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SandboxRefused);
        let shown = own_program();
        let said = format!("the sandbox renamed refused {}: it has no arguments", shown.display());
        assert_eq!(error.to_string(), said);
    });
}

pub(crate) fn a_run_is_bounded_in_time_and_output() {
    run(async {
        let count = Count::new();
        let limits = RunLimits::new().output_bytes(1000);
        let output = launcher().run(&count.child("stdout 1000000"), &limits).await.unwrap();
        assert_eq!((output.stdout.len(), output.dropped), (1000, 999_000));
        assert!(output.exit.is_some_and(|exit| exit.success()));

        let limits = RunLimits::new().time(Duration::from_millis(300));
        let output = launcher().run(&count.child("family"), &limits).await.unwrap();
        assert_eq!(output.exit, None);
        count.none_is_left();

        // It has ended although a grandchild holds its output open.
        let output = launcher().run(&count.child("family-exit"), &RunLimits::new()).await.unwrap();
        assert!(output.exit.is_some_and(|exit| exit.success()));
        assert!(output.stdout.starts_with(b"ready"));

        let output = launcher().run(&count.child("until-eof"), &RunLimits::new()).await.unwrap();
        assert_eq!(output.exit.map(|exit| exit.code), Some(Some(0)), "a run has no input");
    });
}

pub(crate) fn a_hundred_starts_leave_nothing() {
    run(async {
        let count = Count::new();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"#!/bin/sh\nread line\necho \"$line\"\n").unwrap();
        let path = file.into_temp_path();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let launcher = launcher();
        for number in 0..100 {
            let program = Program::new(&*path, "/").env(crate::support::TRIAL, count.name());
            let process = launcher.spawn(&program).await.unwrap();
            let mut stdin = process.take_stdin().unwrap();
            stdin.write_all(format!("{number}\n").as_bytes()).await.unwrap();
            if number % 2 == 0 {
                let mut line = String::new();
                process.take_stdout().unwrap().read_to_string(&mut line).await.unwrap();
                assert_eq!(line, format!("{number}\n"));
            }
        }
        count.none_is_left();
        let idle = count.child("environment").stdin(Input::Null).stdout(Output::Null);
        assert!(matches!(
            launcher.spawn(&idle).await.unwrap().wait().await,
            ExitReport { code: Some(0), .. }
        ));
    });
}

//! Interpreters in a sandbox, in a container, on another machine: the same three pipes.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agent_eval::{Cell, Site, outcome::Status};
use agent_process::{Guard, Launcher, Prefix, Sandbox};
use agent_testkit::processes::{descendants, gone};
use agent_tool_core::ErrorKind;

use crate::session::{Session, result};

/// What holds wherever an interpreter runs.
async fn works(session: &Session) {
    assert_eq!(session.value("x = 20; x + 1").await, "21");
    assert_eq!(session.value("tool('text')").await, "'a text'");
    let cx = session.tools.context();
    let cell = session.interpreters.run(Cell::new("while True: pass"), &cx);
    assert!(tokio::time::timeout(Duration::from_millis(500), cell).await.is_err());
    assert_eq!(session.value("x").await, "20", "interrupted, and the variables are there");
    let died = session.run("import os; os._exit(5)").await;
    assert!(died.death.as_deref().unwrap().contains("exit status 5"), "{died:?}");
}

fn within(prefix: &str, folder: Option<&Path>) -> (Launcher, Site) {
    let mut prefix = Prefix::parse(prefix).unwrap();
    if let Some(folder) = folder {
        prefix = prefix.folder(folder);
    }
    let site = Site::of(&prefix);
    (Launcher::new(Guard::new()).sandbox(prefix), site)
}

// spec: EVAL-08, EVAL-10
pub(crate) async fn bubblewrap_keeps_the_network_and_the_files_away_and_ends_what_left() {
    // The interpreter lies in this checkout, which may lie below the folder that is hidden.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let root = root.display();
    let prefix = format!(
        "bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --ro-bind {root} {root} --unshare-net --unshare-pid \
         --die-with-parent --chdir / --"
    );
    // The folder has to be seen inside, so it is not under the /tmp that is hidden.
    let folder = Path::new("/");
    let (launcher, site) = within(&prefix, Some(folder));
    let session = Session::launched(launcher, |builder| builder.site(site));
    works(&session).await;
    let label = session.run("1").await.label;
    assert!(label.ends_with("on bwrap"), "{label}");
    let code = "import socket\ntry: socket.create_connection(('127.0.0.1', 9), 1)\nexcept OSError as e: print(type(e).__name__, e.errno)\nopen('/tmp/w', 'w').write('x'); print([l.split()[0] for l in open('/proc/net/dev') if ':' in l])\ntry: open('/etc/x', 'w')\nexcept OSError as e: print(e.errno)";
    let seen = session.run(code).await;
    assert_eq!(seen.stdout(), "ConnectionRefusedError 111\n['lo:']\n30\n");
    session
        .run("import subprocess; subprocess.Popen(['sleep', '610'], start_new_session=True)")
        .await;
    let family = descendants();
    drop(session);
    gone(&family);
}

pub(crate) async fn a_container_by_a_stub() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).unwrap();
    let stub = folder.path().join("docker");
    // What `docker exec -i box` does to three pipes, an environment and a folder of its own; `down` is a container that is not up.
    let script = format!(
        "#!/bin/sh\n[ \"$1 $2\" = 'exec -i' ] || exit 64\n[ \"$3\" = box ] || {{ echo \"Error response from daemon: container $3 is not running\" >&2; exit 1; }}\nshift 3\necho started >> {}/starts\nexec env -i PATH=\"$PATH\" INSIDE=1 \"$@\"\n",
        folder.path().display()
    );
    fs::write(&stub, script).unwrap();
    fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    let (launcher, site) = within(&format!("{} exec -i box", stub.display()), Some(&inside));
    assert!(matches!(site, Site::Elsewhere { .. }));
    let session = Session::launched(launcher, |builder| builder.site(site));
    works(&session).await;
    let place = session.value("import os; (os.getcwd(), os.environ.get('INSIDE'))").await;
    assert_eq!(place, format!("('{}', '1')", inside.display()));
    assert_eq!(session.js_value("process.env.INSIDE").await, "'1'");

    let (launcher, site) = within(&format!("{} exec -i down", stub.display()), None);
    let down = Session::launched(launcher, |builder| builder.site(site));
    let error = down.try_cell(Cell::new("open('/tmp/never', 'w')")).await.unwrap_err();
    assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Unavailable, "kernel_not_started"));
    assert!(error.message.contains("container down is not running"), "{}", error.message);
}

/// Counts what it is asked to start, and refuses.
#[derive(Debug)]
struct Down(Arc<AtomicUsize>);

impl Sandbox for Down {
    fn name(&self) -> &str {
        "down"
    }

    fn rewrite(&self, _: agent_process::Command) -> Result<agent_process::Command, String> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Err("the environment is down; start it".to_owned())
    }
}

// spec: EVAL-10
pub(crate) async fn an_environment_that_is_down_is_an_error_and_never_the_host() {
    let asked = Arc::new(AtomicUsize::new(0));
    let launcher = Launcher::new(Guard::new()).sandbox(Down(Arc::clone(&asked)));
    let site = Site::Elsewhere { python: "python3".into(), node: "node".into() };
    let session = Session::launched(launcher, |builder| builder.site(site));
    let error = session.try_cell(Cell::new("open('ran', 'w')")).await.unwrap_err();
    assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Unavailable, "sandbox_refused"));
    assert!(error.message.contains("the environment is down"), "{}", error.message);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(!session.path().join("ran").exists());
    assert!(descendants().is_empty());
}

/// A server on loopback with keys of its own.
struct Server {
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)])
                .status()
                .unwrap();
            assert!(made.success());
        }
        fs::copy(path("user.pub"), path("authorized")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let options = [
            format!("HostKey={}", path("host")),
            format!("AuthorizedKeysFile={}", path("authorized")),
            "ListenAddress=127.0.0.1".to_owned(),
            "StrictModes=no".to_owned(),
            "UsePAM=no".to_owned(),
            "PidFile=none".to_owned(),
            "PermitRootLogin=yes".to_owned(),
            "SetEnv=PATH=".to_owned() + &std::env::var("PATH").unwrap(),
        ];
        fs::create_dir_all("/run/sshd").unwrap();
        let mut server = Command::new("/usr/sbin/sshd");
        server.args(["-D", "-e", "-f", "/dev/null", "-p", &port.to_string()]);
        server.args(options.iter().flat_map(|option| ["-o", option]));
        let child = server.stderr(Stdio::null()).spawn().unwrap();
        Self { child, folder, port }
    }

    fn command(&self) -> String {
        let key = self.folder.path().join("user");
        format!(
            "ssh -p {} -i {} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectionAttempts=20 -o BatchMode=yes 127.0.0.1",
            self.port,
            key.display()
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub(crate) async fn another_machine_by_ssh() {
    let server = Server::start();
    let (launcher, site) = within(&server.command(), Some(Path::new("/")));
    let session = Session::launched(launcher, |builder| builder.site(site));
    works(&session).await;
    let there = session.run("import os; ('SSH_CONNECTION' in os.environ, os.getcwd())").await;
    assert_eq!((result(&there), there.status), ("(True, '/')".to_owned(), Status::Ok));
    session.run("import subprocess; subprocess.Popen(['sleep', '611'])").await;
    let pid = session.value("os.getpid()").await;
    session.interpreters.close().await;
    let left =
        || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    for _ in 0..100 {
        if !left() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!left(), "the kernel is gone on the other machine");
}

pub(crate) async fn a_sandbox_that_runs_nothing_is_named() {
    let (launcher, site) = within("/bin/false", None);
    let session = Session::launched(launcher, |builder| builder.site(site));
    let error = session.try_cell(agent_eval::Cell::new("1")).await.unwrap_err();
    assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Unavailable, "no_interpreter"));
    assert!(error.message.contains("through the sandbox false"), "{}", error.message);
}

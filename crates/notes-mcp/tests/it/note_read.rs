//! `note_read`.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use notes_mcp::{Containment, NotesTools, Refusal, Site};
use serde_json::{Value, json};

use crate::{
    peer::Peer,
    program,
    support::{App, Over, call, code, make_pipe, set_mode},
};

const SECRET: &str = "what nobody may read";

/// Each way of keeping an open beneath the notes: both have to hold alike.
const WAYS: [Containment; 2] = [Containment::Kernel, Containment::Library];

fn read_by(app: &App, name: &str, way: Containment) -> Result<Value, Refusal> {
    call(&NotesTools::new(app.site().with_containment(way)), "note_read", json!({"name": name}))
}

fn read(app: &App, name: &str) -> Result<Value, Refusal> {
    let [kernel, library] = WAYS.map(|way| read_by(app, name, way));
    assert_eq!(kernel, library, "{name}");
    kernel
}

/// An application with a secret outside of its notes.
fn with_secret() -> App {
    let app = App::new();
    app.write("app/data/secret/child.md", SECRET);
    app.write("app/data/secret.md", SECRET);
    app
}

// spec: NOTE-03
#[test]
fn n1_a_note_is_read() {
    let app = App::new();
    app.write("app/data/notes/welcome.md", "# Hello\r\n\nworld\n");
    app.write("app/data/notes/work/plan.md", "");
    let welcome = json!({
        "name": "welcome.md", "size": 16, "text": "# Hello\r\n\nworld\n",
        "truncated": false, "bytes_left": 0, "lossy": false,
    });
    assert_eq!(read(&app, "welcome.md"), Ok(welcome));
    assert_eq!(read(&app, "work/plan.md").expect("a note")["size"], 0);
}

// spec: NOTE-03, NOTE-06, NOTE-10
#[test]
fn n2_a_text_is_cut_at_64_kib_between_characters_and_says_what_is_left() {
    let app = App::new();
    for (note, text, left) in [
        ("x".repeat(65_536), 65_536, 0),
        ("x".repeat(65_537), 65_536, 1),
        (format!("{}я", "x".repeat(65_535)), 65_535, 2),
        (format!("{}😀", "x".repeat(65_534)), 65_534, 4),
        ("x".repeat(1_000_000), 65_536, 934_464),
    ] {
        app.write("app/data/notes/long.md", &note);
        let read = read(&app, "long.md").expect("a note");
        let of = [&read["size"], &read["truncated"], &read["bytes_left"], &read["lossy"]];
        assert_eq!(of, [&json!(note.len()), &json!(left > 0), &json!(left), &json!(false)]);
        assert_eq!(read["text"].as_str().map(str::len), Some(text));
    }
}

// spec: NOTE-03, NOTE-07, NOTE-10
#[test]
fn n3_a_name_that_is_none_is_refused_before_anything_is_opened() {
    // There are no notes, so that whatever looked at the disk would have found nothing.
    let app = App::new();
    fs::remove_dir(app.path("app/data/notes")).expect("removed");
    for (name, expected) in [
        ("../x", "outside_notes"),
        ("/etc/passwd", "outside_notes"),
        ("a/../../x", "outside_notes"),
        ("a/../b.md", "outside_notes"),
        ("..", "outside_notes"),
        ("", "invalid_argument"),
        (".", "invalid_argument"),
        ("a/./b", "invalid_argument"),
        ("a//b", "invalid_argument"),
        ("a/", "invalid_argument"),
        ("x\0", "invalid_argument"),
        ("..\\x", "invalid_argument"),
        (&"x".repeat(201), "invalid_argument"),
        ("fine.md", "note_not_found"),
        (&"я".repeat(200), "note_not_found"),
    ] {
        assert_eq!(code(read(&app, name)), expected, "{name:?}");
    }
    for (name, expected) in [
        (
            "work/../work/plan.md",
            "has a `..`, which is not followed, wherever it leads; give the note's path from app/data/notes on without it",
        ),
        ("/etc/passwd", "begins with `/`; give the note's path from app/data/notes on"),
    ] {
        assert_eq!(
            read(&app, name).expect_err("a refusal").to_string(),
            format!("outside_notes: {name:?} {expected}")
        );
    }
    for arguments in
        [json!({}), json!({"name": null}), json!({"name": 1}), json!({"name": "a", "path": "b"})]
    {
        assert_eq!(
            code(app.call("note_read", arguments.clone())),
            "invalid_argument",
            "{arguments}"
        );
    }
}

// spec: NOTE-07
#[test]
fn n4_a_link_that_leads_out_is_refused_and_says_nothing_of_where() {
    let app = with_secret();
    let secret = app.path("app/data/secret.md");
    for (link, target) in [
        ("relative", "../secret.md".into()),
        ("absolute", secret),
        ("folder", app.path("app/data/secret")),
        ("missing", app.path("app/data/is-not-there")),
        ("process", "/proc/self/environ".into()),
        ("magic", "/proc/self/root/etc/passwd".into()),
        // In, in, and out.
        ("chain", "chain-2".into()),
        ("chain-2", "./relative".into()),
        ("up", "../../data/secret.md".into()),
    ] {
        symlink(target, app.note(link)).expect("a link");
    }
    for name in [
        "relative",
        "absolute",
        "folder",
        "folder/child.md",
        "missing",
        "process",
        "magic",
        "chain",
        "up",
    ] {
        let refused = read(&app, name).expect_err(name);
        assert_eq!(refused.code().as_str(), "outside_notes", "{name}");
        assert_eq!(
            refused.to_string(),
            format!(
                "outside_notes: {name:?} leads out of app/data/notes through a link; only what lies in there is read"
            )
        );
    }
}

// spec: NOTE-07
#[test]
fn n5_a_link_that_stays_inside_is_followed() {
    let app = App::new();
    app.write("app/data/notes/work/plan.md", "the plan");
    for (link, target) in [
        ("relative", "work/plan.md".into()),
        ("absolute", app.note("work/plan.md")),
        ("folder", app.note("work")),
        ("around", "work/../relative".into()),
        ("chain", app.note("around")),
    ] {
        symlink(target, app.note(link)).expect("a link");
    }
    for name in ["relative", "absolute", "folder/plan.md", "around", "chain"] {
        assert_eq!(read(&app, name).expect(name)["text"], "the plan", "{name}");
    }
}

#[test]
fn n6_a_link_to_nothing_and_one_round_in_a_circle_are_no_notes() {
    let app = App::new();
    for (link, target) in [
        ("dangling", "is-not-there".into()),
        ("dangling-absolute", app.note("is-not-there")),
        ("circle", "circle-2".into()),
        ("circle-2", "circle".into()),
        ("circle-absolute", app.note("circle-absolute")),
    ] {
        symlink(target, app.note(link)).expect("a link");
    }
    symlink(".", app.note("here")).expect("a link");
    for (name, expected) in [
        ("dangling", "is or goes through a link to something that is not there"),
        ("dangling/a.md", "is or goes through a link to something that is not there"),
        ("here/dangling", "is or goes through a link to something that is not there"),
        ("dangling-absolute", "is or goes through a link to something that is not there"),
        ("circle", "is or goes through more links than are followed, as in a circle"),
        ("circle-absolute", "is or goes through more links than are followed, as in a circle"),
    ] {
        assert_eq!(
            read(&app, name).expect_err("a refusal").to_string(),
            format!("note_not_found: {name:?} {expected}; look for its name in the log")
        );
    }
    // Here the link leads somewhere, and there is nothing of the name's own.
    assert_eq!(
        read(&app, "here/none.md").expect_err("a refusal").to_string(),
        "note_not_found: there is no note \"here/none.md\" in app/data/notes; look for its name in the log"
    );
}

#[test]
fn n7_what_is_no_file_is_refused_at_once() {
    let app = App::new();
    fs::create_dir(app.note("folder")).expect("a folder");
    make_pipe(&app.note("pipe"));
    let _socket = UnixListener::bind(app.note("socket")).expect("a socket");
    let begun = Instant::now();
    for name in ["folder", "pipe", "socket"] {
        assert_eq!(code(read(&app, name)), "not_a_file", "{name}");
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

// spec: NOTE-07
#[test]
fn n8_a_file_that_becomes_a_link_between_any_two_moments_leaks_nothing() {
    for way in WAYS {
        let app = with_secret();
        app.write("app/data/notes/inside.md", "inside");
        symlink(app.path("app/data/secret.md"), app.note("link")).expect("a link");
        fs::hard_link(app.note("inside.md"), app.note("swapped.md")).expect("a name");
        let tools = NotesTools::new(app.site().with_containment(way));
        let over = AtomicBool::new(false);
        let seen = thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    for what in ["link", "inside.md"] {
                        let next = app.note("next");
                        if what == "link" {
                            symlink(app.path("app/data/secret.md"), &next).expect("a link");
                        } else {
                            fs::hard_link(app.note(what), &next).expect("a name");
                        }
                        fs::rename(&next, app.note("swapped.md")).expect("swapped");
                    }
                }
            });
            let _over = Over(&over);
            let mut seen = [0; 2];
            let mut rounds = 0;
            // As many reads as it takes to have seen both, and at least ten thousand.
            while rounds < 10_000 || seen.contains(&0) {
                rounds += 1;
                match call(&tools, "note_read", json!({"name": "swapped.md"})) {
                    Ok(note) => {
                        assert_eq!(note["text"], "inside");
                        seen[0] += 1;
                    }
                    Err(refused) => {
                        assert_eq!(refused.code().as_str(), "outside_notes", "{refused}");
                        seen[1] += 1;
                    }
                }
            }
            seen
        });
        assert!(seen[0] + seen[1] >= 10_000);
    }
}

// spec: NOTE-07
#[test]
fn n9_the_notes_may_be_a_link_which_is_resolved_once() {
    let app = with_secret();
    app.write("elsewhere/a.md", "elsewhere");
    fs::remove_dir(app.path("app/data/notes")).expect("removed");
    symlink("../../elsewhere", app.path("app/data/notes")).expect("a link");
    for way in WAYS {
        let tools = NotesTools::new(app.site().with_containment(way));
        let read = || call(&tools, "note_read", json!({"name": "a.md"}));
        assert_eq!(read().expect("a note")["text"], "elsewhere");
        fs::remove_file(app.path("app/data/notes")).expect("removed");
        symlink("secret", app.path("app/data/notes")).expect("a link");
        assert_eq!(read().expect("a note")["text"], "elsewhere");
        fs::remove_file(app.path("app/data/notes")).expect("removed");
        symlink("../../elsewhere", app.path("app/data/notes")).expect("a link");
    }
    // What they were resolved to may go and come back, and is no link when it does.
    let tools = NotesTools::new(app.site());
    fs::rename(app.path("elsewhere"), app.path("gone")).expect("renamed");
    let read = || call(&tools, "note_read", json!({"name": "a.md"}));
    assert_eq!(code(read()), "note_not_found");
    symlink("app/data/secret", app.path("elsewhere")).expect("a link");
    assert_eq!(code(read()), "outside_notes");
}

/// What is outside of the root is refused wherever on the way to the notes the link is, and whenever it came.
// spec: NOTE-07
#[test]
fn n9_notes_that_a_link_leads_out_of_the_root_to_are_refused() {
    let outside = tempfile::TempDir::new().expect("a folder");
    fs::create_dir(outside.path().join("notes")).expect("a folder");
    for folder in [outside.path().to_owned(), outside.path().join("notes")] {
        fs::write(folder.join("a.md"), SECRET).expect("a secret");
    }
    for (place, way) in
        ["app", "app/data", "app/data/notes"].into_iter().zip(WAYS.into_iter().cycle())
    {
        for began_before in [false, true] {
            let app = App::new();
            app.write("app/data/notes/a.md", "a note");
            let tools = || NotesTools::new(app.site().with_containment(way));
            let early = began_before.then(tools);
            fs::rename(app.path(place), app.path("moved")).expect("moved");
            symlink(outside.path(), app.path(place)).expect("a link");
            let tools = early.unwrap_or_else(tools);
            let read = || call(&tools, "note_read", json!({"name": "a.md"}));
            assert_eq!(
                read().expect_err("a refusal").to_string(),
                "outside_notes: app/data/notes or a folder on the way to it is no folder, or a link that leads out of the root or came after \
                 the server's start, which is not followed; let a person look at it",
                "{place}, {began_before}"
            );
            // With the folder in its place again there are notes again.
            fs::remove_file(app.path(place)).expect("removed");
            fs::rename(app.path("moved"), app.path(place)).expect("moved");
            assert_eq!(read().expect("a note")["text"], "a note", "{place}, {began_before}");
        }
    }
}

#[test]
fn n9_notes_that_are_not_there_are_told_from_a_note_that_is_not() {
    let app = App::new();
    assert_eq!(
        read(&app, "a.md").expect_err("a refusal").to_string(),
        "note_not_found: there is no note \"a.md\" in app/data/notes; look for its name in the log"
    );
    fs::remove_dir(app.path("app/data/notes")).expect("removed");
    assert_eq!(
        read(&app, "a.md").expect_err("a refusal").to_string(),
        "note_not_found: there is no folder app/data/notes; that is no empty one: find out whether the application runs, and where it keeps its notes"
    );
}

#[test]
fn n10_names_may_be_what_file_names_are() {
    let app = App::new();
    for name in ["with spaces.md", "caf\u{e9}.md", "cafe\u{301}.md", ".hidden", "..dots", "a:b?.md"]
    {
        app.write(&format!("app/data/notes/{name}"), name);
        let note = read(&app, name).expect(name);
        assert_eq!((&note["name"], &note["text"]), (&json!(name), &json!(name)));
    }
}

#[test]
fn n11_what_is_no_text_is_shown_and_said() {
    let app = App::new();
    app.write("app/data/notes/odd.md", b"a\xffb\x1b[2J\rc");
    let note = read(&app, "odd.md").expect("a note");
    assert_eq!(
        (&note["text"], &note["lossy"]),
        (&json!("a\u{fffd}b\\u{1b}[2J\\u{d}c"), &json!(true))
    );
    // What is wrong only after the cut is not said of the text; what is shown longer than it is takes its room.
    let mut bytes = vec![b'x'; 65_536];
    bytes.push(0xff);
    app.write("app/data/notes/odd.md", &bytes);
    assert_eq!(read(&app, "odd.md").expect("a note")["lossy"], false);
    app.write("app/data/notes/odd.md", [0; 65_536]);
    let note = read(&app, "odd.md").expect("a note");
    assert_eq!(
        (&note["text"], &note["bytes_left"]),
        (&json!("\\u{0}".repeat(13_107)), &json!(52_429))
    );
}

#[test]
fn n12_a_note_that_is_missing_or_may_not_be_read_is_never_empty() {
    let app = App::new();
    app.write("app/data/notes/file.md", "x");
    for name in ["none.md", "none/none.md", "file.md/x"] {
        assert_eq!(code(read(&app, name)), "note_not_found", "{name}");
    }
    let user = app.hand_over();
    set_mode(&app.note("file.md"), 0o000);
    let at = tempfile::TempDir::new().expect("a folder");
    set_mode(at.path(), 0o755);
    let mut command = program::command_as(user, app.root(), at.path());
    let mut peer = Peer::of(command.spawn().expect("it starts"));
    let result = peer.call(1, "note_read", json!({"name": "file.md"}));
    assert_eq!(
        (&result["isError"], &result["content"][0]["text"]),
        (
            &json!(true),
            &json!(
                "io_error: cannot open the note \"file.md\": permission denied; let a person look at it"
            )
        )
    );
}

#[test]
fn a_root_that_is_no_folder_is_no_site() {
    let app = App::new();
    app.write("file", "x");
    assert!(Site::open(&app.path("file")).is_err());
    assert!(Site::open(&app.path("none")).is_err());
}

//! Cells that patch, close, clear, flood and fake: each has one result, and the next cell works.

use std::time::Duration;

use agent_eval::outcome::Status;

use crate::session::{Session, result};

const PYTHON: &[(&str, &str)] = &[
    (
        "patches what the kernel uses",
        "import json, os, time, threading, io, sys\nfor m, n in ((json, 'dumps'), (json, 'loads'), (time, 'time'), (time, 'monotonic'), (os, 'write'), (os, 'read'), (os, 'fstat'), (os, 'getpid'), (threading, 'get_ident'), (io, 'TextIOWrapper')):\n    setattr(m, n, None)",
    ),
    (
        "closes its outputs",
        "import os, sys\nsys.stdout.close(); sys.stderr.close()\nos.close(1); os.close(2)",
    ),
    ("closes the low descriptors", "import os\nos.closerange(3, 256)"),
    (
        "puts others in their place",
        "import os\nf = os.open('/dev/null', os.O_WRONLY); os.dup2(f, 1); os.dup2(f, 2); print('lost')",
    ),
    ("clears its globals", "globals().clear()"),
    (
        "deletes its builtins",
        "import builtins\ndel builtins.display, builtins.tool\nbuiltins.print = None",
    ),
    ("deletes its folder", "import os, tempfile\nd = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)"),
    (
        "prints a fake frame",
        "import sys, struct\nfor kind in b'poex':\n    sys.stdout.buffer.write(struct.pack('<cI', bytes([kind]), 4) + b'\\0\\0\\0\\0')\nsys.stdout.flush()",
    ),
    (
        "prints fake messages and marks",
        "print('{\"header\": {\"msg_type\": \"execute_reply\"}}')\nprint('\\x1e0123:99\\x1e' * 100)",
    ),
    (
        "shows lone surrogates",
        "print('\\ud800'); display({'text/plain': '\\ud800', 'application/json': {'\\udfff': '\\ud800'}}, raw=True)\n'\\ud800'",
    ),
    ("raises lone surrogates", "raise ValueError('\\ud800')"),
    (
        "shows what is no number",
        "display({'application/json': {'a': [float('nan'), float('inf'), 10**400]}, 'text/plain': 'x'}, raw=True)",
    ),
    (
        "nests deeply",
        "x = []\nfor _ in range(500): x = [x]\ndisplay({'application/json': x, 'text/plain': 'deep'}, raw=True)\nx",
    ),
    (
        "holds itself",
        "x = []; x.append(x); d = {}; d['d'] = d\ndisplay({'application/json': d, 'text/plain': 'loop'}, raw=True)\nx",
    ),
    (
        "shows types that do not fit",
        "display({'text/html': 5, 'image/png': None, 'text/plain': b'x', 7: 8}, raw=True)",
    ),
    (
        "shows a bundle that the types refuse",
        "display({'application/vnd.dataresource+json': {'data': [{'a': 1}]}, 'text/plain': 'x'}, raw=True)",
    ),
    ("has a repr that raises", "class E:\n    def __repr__(self): raise KeyboardInterrupt\nE()"),
    (
        "shows a large image",
        "import os\ndisplay({'image/png': __import__('base64').b64encode(os.urandom(10 << 20)).decode(), 'text/plain': 'big'}, raw=True)",
    ),
    ("prints 100 MB", "import sys\nb = 'y' * (1 << 20)\nfor _ in range(100): sys.stdout.write(b)"),
    (
        "writes bytes that are no text",
        "import os\nos.write(1, bytes(range(256)) * 300)\nos.write(2, b'\\xff' * 70000)",
    ),
    ("forks and goes on", "import os\nif os.fork() == 0: raise SystemExit(0)\nos.wait()"),
    (
        "starts many threads that print",
        "import threading\nts = [threading.Thread(target=lambda: [print('t' * 50) for _ in range(200)]) for _ in range(8)]\n[t.start() for t in ts]; [display(i) for i in range(20)]; [t.join() for t in ts]; None",
    ),
    (
        "changes its signal handlers",
        "import signal\nfor s in (2, 13, 15): signal.signal(s, signal.SIG_DFL)\nsignal.signal(2, signal.default_int_handler)",
    ),
    ("sets a limit on recursion", "import sys\nsys.setrecursionlimit(80)"),
    (
        "replaces the display hook and the import system",
        "import sys\nsys.displayhook = None; sys.excepthook = None; sys.meta_path.clear()",
    ),
];

const JAVASCRIPT: &[(&str, &str)] = &[
    (
        "patches what the kernel uses",
        "JSON.stringify = null; Promise.prototype.then = null; Map.prototype.get = null; Array.prototype.map = null; 1",
    ),
    (
        "replaces its globals",
        "console = null; Buffer = null; process.stdout.write = null; Object = null; Symbol = null; 1",
    ),
    ("closes its outputs", "require('fs').closeSync(1); 1"),
    ("throws what is no error", "throw { get message() { throw 1 } }"),
    (
        "throws from everywhere",
        "setTimeout(() => { throw 1 }); Promise.reject(2); process.nextTick(() => { throw 3 }); 1",
    ),
    (
        "nests deeply",
        "let d = []; for (let i = 0; i < 500; i++) d = [d]; display({ [Symbol.for('Jupyter.display')]() { return { 'application/json': d, 'text/plain': 'x' } } }); 1",
    ),
    ("shows lone surrogates", "console.log('\\ud800'); display('\\ud800'); '\\ud800'"),
    (
        "prints 100 MB",
        "const b = 'y'.repeat(1 << 20); for (let i = 0; i < 100; i++) process.stdout.write(b); 1",
    ),
    (
        "shows a large image",
        "const png = Buffer.alloc(10 << 20); png.writeUInt32BE(0x89504e47); png",
    ),
];

pub(crate) async fn every_hostile_cell_has_one_result_and_the_interpreter_lives() {
    let mut faults = Vec::new();
    for (name, code) in PYTHON {
        let session = Session::with(|builder| builder.idle(Duration::from_secs(30)));
        session.run("kept = 41").await;
        let hostile = session.run(code).await;
        if !matches!(hostile.status, Status::Ok | Status::Error) {
            faults.push(format!("python {name}: {:?} {:?}", hostile.status, hostile.death));
            continue;
        }
        let next = session.run("import sys; sys.stdout.write('still here\\n')\n1 + 41").await;
        if next.result().is_none_or(|bundle| bundle["text/plain"] != "42")
            || next.stdout() != "still here\n"
        {
            faults.push(format!("python {name}, the next cell: {next:#?}"));
        }
    }
    for (name, code) in JAVASCRIPT {
        let session = Session::with(|builder| builder.idle(Duration::from_secs(30)));
        session.js("let kept = 41").await;
        let hostile = session.js(code).await;
        if !matches!(hostile.status, Status::Ok | Status::Error) {
            faults.push(format!("javascript {name}: {:?} {:?}", hostile.status, hostile.death));
            continue;
        }
        let next = session.js("1 + kept").await;
        if next.result().is_none_or(|bundle| bundle["text/plain"] != "42") {
            faults.push(format!("javascript {name}, the next cell: {next:#?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let session = Session::new();
    assert_eq!(result(&session.run("1").await), "1");
}

//! All of the checks, in one place: what passes here passes in CI.

use anyhow::Result;

use crate::{
    deps, docs, features,
    sh::{self, timed},
    spec, test,
};

pub fn ci() -> Result<()> {
    let all = features::of_workspace();
    timed("fmt", || sh::run(&mut sh::cargo(["fmt", "--all", "--check"])))?;
    timed("deps", deps::deps)?;
    timed("spec", spec::spec)?;
    timed("clippy", || {
        let args = ["clippy", "--workspace", "--all-targets", "--features", &all];
        sh::run(sh::cargo(args).args(["--", "-D", "warnings"]))
    })?;
    timed("features", features::features)?;
    timed("language-pack", features::apart)?;
    timed("docs", || docs::docs(docs::Mode::Check))?;
    timed("rustdoc", || {
        let args = ["doc", "--workspace", "--no-deps", "--features", &all];
        sh::run(sh::cargo(args).env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    timed("package", || {
        let args = ["package", "--workspace", "--no-verify", "--allow-dirty", "--quiet"];
        sh::run(&mut sh::cargo(args))
    })?;
    // Last, so that the run closes on the test runner's own summary lines.
    test::test()
}

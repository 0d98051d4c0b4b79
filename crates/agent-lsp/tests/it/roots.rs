use std::os::unix::fs::symlink;

use agent_lsp::{roots, table::ServerTable};
use agent_workspace::Workspace;

use crate::support::Checkout;

/// The root as shown, and what it was lifted from: `. < crates/a`.
fn root(checkout: &Checkout, server: &str, file: &str) -> String {
    let table = ServerTable::bundled();
    let found =
        roots::find(&checkout.workspace, &checkout.path(file), table.by_id(server).unwrap());
    let show = |path| checkout.workspace.show(path);
    match found {
        None => "none".to_owned(),
        Some(root) => match &root.lifted_from {
            None => show(&root.folder),
            Some(nearest) => format!("{} < {}", show(&root.folder), show(nearest)),
        },
    }
}

fn check(files: &[(&str, &str)], server: &str, expected: &[(&str, &str)]) {
    let checkout = Checkout::new(files);
    for (file, expected) in expected {
        assert_eq!(root(&checkout, server, file), *expected, "{server}: {file}");
    }
}

// report: D16
#[test]
fn the_root_is_the_nearest_folder_with_a_marker_never_above_the_run_s() {
    let files = [
        ("a/pyproject.toml", ""),
        ("a/src/deep/m.py", ""),
        ("a/b/setup.py", ""),
        ("a/b/m.py", ""),
        ("c/m.py", ""),
        ("App/App.csproj", ""),
        ("App/x/P.cs", ""),
    ];
    check(
        &files,
        "ty",
        &[("a/src/deep/m.py", "a"), ("a/b/m.py", "a/b"), ("c/m.py", "none"), ("a/new/n.py", "a")],
    );
    check(&files, "csharp", &[("App/x/P.cs", "App")]);

    let checkout = Checkout::new(&files);
    std::fs::write(checkout.outer.path().join("pyproject.toml"), "").unwrap();
    assert_eq!(root(&checkout, "ty", "c/m.py"), "none");
}

#[test]
fn a_crate_is_lifted_to_the_cargo_workspace_that_has_it_as_a_member() {
    let package = "[package]\nname = \"x\"\n";
    let files = [
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"crates/*\", \"./tools/x\"]\nexclude = [\"crates/out\"]\n[workspace.dependencies]\nlib = { path = \"lib\" }\nserde = \"1\"\n",
        ),
        ("crates/a/Cargo.toml", package),
        ("crates/a/fixtures/loose/Cargo.toml", package),
        ("crates/out/Cargo.toml", package),
        ("tools/x/Cargo.toml", package),
        ("lib/Cargo.toml", package),
        ("other/Cargo.toml", package),
        ("nested/Cargo.toml", "[workspace]\nmembers = [\"m\"]\n"),
        ("nested/m/Cargo.toml", package),
    ];
    check(
        &files,
        "rust-analyzer",
        &[
            ("crates/a/src/lib.rs", ". < crates/a"),
            ("tools/x/main.rs", ". < tools/x"),
            ("lib/lib.rs", ". < lib"),
            ("build.rs", "."),
            // No member, excluded, or of a workspace of its own.
            ("crates/a/fixtures/loose/lib.rs", "crates/a/fixtures/loose"),
            ("crates/out/src/lib.rs", "crates/out"),
            ("other/lib.rs", "other"),
            ("nested/m/lib.rs", "nested < nested/m"),
        ],
    );
}

#[test]
fn a_package_is_lifted_to_the_npm_or_pnpm_workspace_that_has_it() {
    let npm = [
        ("package.json", r#"{"workspaces": ["packages/*", "apps/**", "!apps/old"]}"#),
        ("packages/ui/package.json", "{}"),
        ("packages/ui/tsconfig.json", "{}"),
        ("apps/[slug]/web/package.json", "{}"),
        ("apps/old/package.json", "{}"),
        ("loose/package.json", "{}"),
    ];
    check(
        &npm,
        "typescript",
        &[
            ("packages/ui/src/a.ts", ". < packages/ui"),
            ("apps/[slug]/web/page.tsx", ". < apps/[slug]/web"),
            ("apps/old/a.ts", "apps/old"),
            ("loose/a.ts", "loose"),
        ],
    );
    let yarn =
        [("package.json", r#"{"workspaces": {"packages": ["p"]}}"#), ("p/package.json", "{}")];
    check(&yarn, "typescript", &[("p/a.ts", ". < p")]);
    let pnpm = [
        (
            "pnpm-workspace.yaml",
            "# all\npackages:\n  - 'packages/*'\n  - \"!packages/old\"\n  - [odd]\n",
        ),
        ("packages/a/package.json", "{}"),
        ("packages/old/package.json", "{}"),
    ];
    check(
        &pnpm,
        "typescript",
        &[("packages/a/a.ts", ". < packages/a"), ("packages/old/a.ts", "packages/old")],
    );
    let broken = [
        ("package.json", "{\"workspaces\": [\"p\""),
        ("pnpm-workspace.yaml", "packages: ]["),
        ("p/package.json", "{}"),
    ];
    check(&broken, "typescript", &[("p/a.ts", "p")]);
}

#[test]
fn a_module_is_lifted_to_the_go_work_that_uses_it() {
    let files = [
        (
            "go.work",
            "go 1.22\n\nuse ./one // the first\nuse (\n\t./two\n\t\"three\"\n)\nuseless x\n",
        ),
        ("one/go.mod", ""),
        ("two/go.mod", ""),
        ("three/go.mod", ""),
        ("four/go.mod", ""),
    ];
    let expected = [
        ("one/a.go", ". < one"),
        ("two/b/a.go", ". < two"),
        ("three/a.go", ". < three"),
        ("four/a.go", "four"),
    ];
    check(&files, "gopls", &expected);
}

#[test]
fn python_and_dart_and_gradle_workspaces_lift_too() {
    let pyright =
        [("pyrightconfig.json", "{ // c\n}"), ("a/pyproject.toml", ""), ("a/b/setup.py", "")];
    check(&pyright, "pyright", &[("a/m.py", ". < a"), ("a/b/m.py", ". < a/b")]);
    check(&pyright, "ty", &[("a/b/m.py", "a/b")]);
    let uv = [
        ("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"libs/*\"]\nexclude = [\"libs/x\"]\n"),
        ("libs/a/pyproject.toml", ""),
        ("libs/x/pyproject.toml", ""),
    ];
    check(&uv, "ty", &[("libs/a/m.py", ". < libs/a"), ("libs/x/m.py", "libs/x")]);
    let dart = [
        ("pubspec.yaml", "name: a\nworkspace:\n  - pkg/b\n"),
        ("pkg/b/pubspec.yaml", ""),
        ("pkg/c/pubspec.yaml", ""),
    ];
    check(&dart, "dart", &[("pkg/b/lib/b.dart", ". < pkg/b"), ("pkg/c/lib/c.dart", "pkg/c")]);
    let gradle = [("settings.gradle.kts", ""), ("app/build.gradle.kts", "")];
    check(&gradle, "kotlin", &[("app/src/A.kt", ". < app")]);
}

// report: D16
#[test]
fn loose_projects_side_by_side_stay_apart() {
    let files = [("tsconfig.json", "{}"), ("web/tsconfig.json", "{}"), ("api/package.json", "{}")];
    check(&files, "typescript", &[("web/a.ts", "web"), ("api/a.ts", "api"), ("a.ts", ".")]);
}

#[test]
fn the_root_is_a_real_path_and_stays_in_the_root_that_holds_the_file() {
    let checkout = Checkout::new(&[("real/pyproject.toml", ""), ("real/src/m.py", "")]);
    symlink("real/src", checkout.root().join("link")).unwrap();
    assert_eq!(root(&checkout, "ty", "link/m.py"), "real");

    // A second root of the run is as high as the first one's markers go.
    let outer = checkout.root();
    let workspace = Workspace::builder()
        .named_root("a", outer.join("real/src"))
        .named_root("b", &outer)
        .open()
        .unwrap();
    let table = ServerTable::bundled();
    let found = |file: &str| {
        roots::find(&workspace, &workspace.resolve(file).unwrap(), table.by_id("ty").unwrap())
            .map(|root| root.real_path)
    };
    assert_eq!(found("a:m.py"), None);
    assert_eq!(found("b:real/m.py"), Some(outer.join("real")));
}

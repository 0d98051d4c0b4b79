//! The sources that are searched: what the registries ship, by fixed versions, and of each package
//! only the files of one language.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, bail};

use crate::sh;

/// A language's sources.
pub struct Corpus {
    pub language: &'static str,
    endings: &'static [&'static str],
    packages: Packages,
}

enum Packages {
    /// Crates by the beginning of their name, out of [`VENDORED`].
    Crates(&'static [&'static str]),
    /// Source distributions.
    Python(&'static [&'static str]),
    /// Packages of npm, each with the folders that hold sources and nothing built.
    Npm(&'static [(&'static str, &'static [&'static str])]),
}

pub const CORPORA: &[Corpus] = &[
    Corpus { language: "rust", endings: &["rs"], packages: Packages::Crates(&["ra_ap_", "tokio"]) },
    Corpus { language: "python", endings: &["py"], packages: Packages::Python(&["Django==5.2.9"]) },
    Corpus {
        language: "c",
        endings: &["c", "h"],
        packages: Packages::Crates(&["libgit2-sys", "openssl-src"]),
    },
    Corpus {
        language: "typescript",
        endings: &["ts"],
        packages: Packages::Npm(&[
            ("effect@4.1.0", &["src"]),
            ("rxjs@7.8.2", &["src"]),
            ("zod@4.6.7", &["src"]),
        ]),
    },
    Corpus {
        language: "javascript",
        endings: &["js"],
        packages: Packages::Npm(&[
            ("three@0.187.0", &["src", "examples/jsm"]),
            ("mathjs@15.2.0", &["lib/esm"]),
            ("echarts@6.1.0", &["lib"]),
        ]),
    },
    // All Dart that the registries were found to ship, 0.2 MB: it says that the same is found, and
    // little about speed.
    Corpus {
        language: "dart",
        endings: &["dart"],
        packages: Packages::Crates(&["flutter_rust_bridge_codegen", "serde-generate"]),
    },
];

/// Crates and what they depend on, for cargo to download side by side.
const VENDORED: &str = r#"[package]
name = "corpus"
version = "0.0.0"
edition = "2024"

[dependencies]
flutter_rust_bridge_codegen = "=2.13.0"
libgit2-sys = "=0.18.8"
openssl-src = "=300.5.4"
ra_ap_ide = "=0.0.300"
serde-generate = "=0.32.0"
tokio = { version = "=1.54.1", features = ["full"] }

[workspace]
"#;

impl Corpus {
    /// The folder with these sources, made when it is not there.
    pub fn folder(&self) -> Result<PathBuf> {
        let folder = sh::root().join(".tools/bench/corpora").join(self.language);
        if folder.exists() {
            return Ok(folder);
        }
        // What is half copied must not be taken for a corpus later.
        let half = folder.with_extension("half");
        let _ = fs::remove_dir_all(&half);
        for (name, source) in self.sources()? {
            for file in sh::files(&source)? {
                let ending = file.extension().unwrap_or_default().to_string_lossy().into_owned();
                if self.endings.contains(&ending.as_str()) {
                    let target = half.join(&name).join(file.strip_prefix(&source)?);
                    fs::create_dir_all(target.parent().context("a parent")?)?;
                    fs::copy(&file, &target)?;
                }
            }
        }
        fs::rename(&half, &folder).with_context(|| format!("{} is empty", self.language))?;
        Ok(folder)
    }

    /// The unpacked packages, with the folder of the corpus that each goes to.
    fn sources(&self) -> Result<Vec<(String, PathBuf)>> {
        match self.packages {
            Packages::Crates(names) => {
                let vendored = vendored()?;
                let mut sources = Vec::new();
                for entry in fs::read_dir(&vendored)? {
                    let name = entry?.file_name().to_string_lossy().into_owned();
                    if names.iter().any(|wanted| name.starts_with(wanted)) {
                        sources.push((name.clone(), vendored.join(name)));
                    }
                }
                Ok(sources)
            }
            Packages::Python(names) => names
                .iter()
                .map(|name| {
                    let fixed = ["-m", "pip", "download", "--quiet", "--no-deps"];
                    let sdist = ["--no-binary", ":all:", name];
                    Ok((
                        (*name).to_owned(),
                        unpacked(name, "python3", &[&fixed[..], &sdist].concat())?,
                    ))
                })
                .collect(),
            Packages::Npm(packages) => {
                let mut sources = Vec::new();
                for (name, folders) in packages {
                    let package = unpacked(name, "npm", &["pack", "--silent", name])?;
                    for folder in *folders {
                        sources.push((
                            format!("{name}/{folder}"),
                            package.join("package").join(folder),
                        ));
                    }
                }
                Ok(sources)
            }
        }
    }
}

fn downloads() -> PathBuf {
    sh::root().join(".tools/bench/downloads")
}

fn vendored() -> Result<PathBuf> {
    let folder = downloads().join("crates");
    let done = folder.join("vendor");
    if !done.exists() {
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("Cargo.toml"), VENDORED)?;
        fs::write(folder.join("src/lib.rs"), "")?;
        let mut command = sh::cargo(["vendor", "--quiet", "half"]);
        sh::install(command.current_dir(&folder).stdout(Stdio::null()))?;
        fs::rename(folder.join("half"), &done)?;
    }
    Ok(done)
}

/// The folder of the one archive that a downloader leaves in its working directory.
fn unpacked(name: &str, program: &str, args: &[&str]) -> Result<PathBuf> {
    let folder = downloads().join(name);
    fs::create_dir_all(&folder)?;
    if archives(&folder)?.is_empty() {
        let mut command = sh::command(program, args.iter().copied());
        sh::install(command.current_dir(&folder).stdout(Stdio::null()))?;
    }
    let archives = archives(&folder)?;
    let [archive] = archives.as_slice() else {
        bail!("{} archives of {name}", archives.len());
    };
    let archive = archive.to_string_lossy().into_owned();
    sh::run(sh::command("tar", ["-xzf", &archive]).current_dir(&folder))?;
    Ok(folder)
}

fn archives(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let paths = entries.into_iter().map(|entry| entry.path());
    Ok(paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "gz" || ending == "tgz"))
        .collect())
}

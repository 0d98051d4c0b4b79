//! Where a program could be, in the order of the search. Nothing is started here.

use std::{
    collections::{BTreeSet, HashSet},
    env,
    ffi::OsStr,
    fs,
    path::{Component, Path, PathBuf},
};

use super::{Origin, Place, Trust, Wanted, Why};
use crate::platform;

#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) origin: Origin,
    /// Why it is not even probed.
    pub(super) refused: Option<Why>,
}

/// The files that exist. In an untrusted place those inside it are listed as refused.
pub(super) fn list(wanted: &Wanted, place: &Place, search_path: &OsStr) -> Vec<Candidate> {
    let search = Search { place, roots: canonical_roots(place), path: folders(search_path) };
    let mut listed = match &wanted.configured {
        Some(configured) => search.configured(configured),
        None => search.by_name(wanted),
    };
    let mut seen = HashSet::new();
    listed.retain(|candidate| seen.insert((entry(&candidate.path), candidate.refused.is_some())));
    listed
}

/// The file under its folder's real name: `/bin` is `/usr/bin` mostly. A link of its own may be another program.
fn entry(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    let entry = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
    entry.unwrap_or_else(|| path.to_owned())
}

struct Search<'a> {
    place: &'a Place,
    roots: Vec<PathBuf>,
    path: Vec<PathBuf>,
}

impl Search<'_> {
    fn configured(&self, configured: &Path) -> Vec<Candidate> {
        let candidate = |path: &Path, refused| Candidate {
            path: path.to_owned(),
            origin: Origin::Configured,
            refused,
        };
        if configured.is_absolute() {
            let existing = self.existing(configured, Origin::Configured);
            let why = if configured.is_dir() { Why::Folder } else { Why::NoFile };
            return vec![existing.unwrap_or_else(|| candidate(configured, Some(why)))];
        }
        let mut components = configured.components();
        match (components.next(), components.next()) {
            (Some(Component::Normal(name)), None) => {
                let listed = self.in_folders(&self.path, name, Origin::Configured);
                if listed.is_empty() {
                    return vec![candidate(configured, Some(Why::NoFile))];
                }
                listed
            }
            _ => vec![candidate(configured, Some(Why::Relative))],
        }
    }

    fn by_name(&self, wanted: &Wanted) -> Vec<Candidate> {
        let mut local = Vec::new();
        for root in &self.place.roots {
            local.extend(wanted.local_folders.iter().map(|folder| root.join(folder)));
        }
        let places = [
            (Origin::Local, &local),
            (Origin::SearchPath, &self.path),
            (Origin::MoreFolders, &wanted.more_folders),
        ];
        let mut listed = Vec::new();
        for (origin, folders) in places {
            for name in &wanted.names {
                listed.extend(self.in_folders(folders, OsStr::new(name), origin));
            }
        }
        if wanted.numbered {
            listed.extend(self.numbered(wanted));
        }
        listed
    }

    /// `name-N` on the search path and in the further folders, the highest N first.
    fn numbered(&self, wanted: &Wanted) -> Vec<Candidate> {
        let mut listed = Vec::new();
        for name in &wanted.names {
            let prefix = format!("{name}-");
            let folders = || self.path.iter().chain(&wanted.more_folders);
            let entries = folders().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
            let numbers: BTreeSet<u32> = entries
                .filter_map(|entry| {
                    entry.ok()?.file_name().to_str()?.strip_prefix(&prefix)?.parse().ok()
                })
                .collect();
            for number in numbers.into_iter().rev() {
                let name = format!("{prefix}{number}");
                let name = OsStr::new(&name);
                listed.extend(self.in_folders(&self.path, name, Origin::SearchPath));
                listed.extend(self.in_folders(&wanted.more_folders, name, Origin::MoreFolders));
            }
        }
        listed
    }

    fn in_folders(&self, folders: &[PathBuf], name: &OsStr, origin: Origin) -> Vec<Candidate> {
        folders.iter().filter_map(|folder| self.existing(&folder.join(name), origin)).collect()
    }

    fn existing(&self, path: &Path, origin: Origin) -> Option<Candidate> {
        let metadata = fs::metadata(path).ok().filter(|metadata| metadata.is_file())?;
        let refused = if self.is_untrusted(path) {
            Some(Why::NotTrusted)
        } else if !platform::is_executable(&metadata) {
            Some(Why::NotExecutable)
        } else {
            None
        };
        Some(Candidate { path: path.to_owned(), origin, refused })
    }

    /// Inside the checkout, by its own path, by its folder's real one, or by where a link leads.
    fn is_untrusted(&self, path: &Path) -> bool {
        if self.place.trust == Trust::Trusted {
            return false;
        }
        let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
        let forms = [Some(path.to_owned()), folder, fs::canonicalize(path).ok()];
        forms.iter().flatten().any(|form| self.roots.iter().any(|root| form.starts_with(root)))
    }
}

/// The roots as they are named and as they really are.
fn canonical_roots(place: &Place) -> Vec<PathBuf> {
    let real = place.roots.iter().filter_map(|root| fs::canonicalize(root).ok());
    place.roots.iter().cloned().chain(real).collect()
}

/// The folders of a search path. A relative entry means another folder in each process, so it is no place to find anything.
fn folders(search_path: &OsStr) -> Vec<PathBuf> {
    env::split_paths(search_path).filter(|folder| folder.is_absolute()).collect()
}

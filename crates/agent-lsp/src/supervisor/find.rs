//! Whether a server's program is there, and answers.

use std::path::Path;

use agent_process::{Finder, Found, Missing, Place, Wanted};

use crate::table::{Server, Trust};

/// Where projects keep programs of their own.
const LOCAL: [&str; 3] = ["node_modules/.bin", ".venv/bin", "venv/bin"];

/// Finds the program of a server for a root. What its probe is asked may be another program beside it.
pub(super) async fn find(
    finder: &Finder,
    row: &Server,
    root: &Path,
    trust: Trust,
) -> Result<Found, Missing> {
    let place = place(root, trust);
    let own = row.probe.split_first().filter(|(program, _)| row.programs.contains(program));
    let wanted = wanted(&row.programs);
    let new_enough = |wanted: Wanted| match &row.min_version {
        Some(version) => wanted.at_least(version),
        None => wanted,
    };
    if let Some((_, args)) = own {
        return finder.find(&new_enough(wanted.probe(args.iter().cloned())), &place).await;
    }
    let found = finder.find(&wanted.unprobed(), &place).await?;
    if let Some((beside, args)) = row.probe.split_first() {
        let path = found.path.with_file_name(beside);
        let asked = Wanted::new(beside.clone()).configured(path).probe(args.iter().cloned());
        let answered = finder.find(&new_enough(asked), &place).await?;
        return Ok(with_version(found, answered));
    }
    Ok(found)
}

/// Where to look for the programs of a root.
pub(super) fn place(root: &Path, trust: Trust) -> Place {
    Place::new([root.to_owned()]).trust(match trust {
        Trust::Trusted => agent_process::Trust::Trusted,
        Trust::Untrusted => agent_process::Trust::Untrusted,
    })
}

fn wanted(programs: &[String]) -> Wanted {
    let mut names = programs.iter().cloned();
    let first = Wanted::new(names.next().unwrap_or_default());
    let named = names.fold(first, Wanted::or);
    LOCAL.iter().fold(named, |wanted, folder| wanted.local(*folder))
}

fn with_version(mut found: Found, answered: Found) -> Found {
    found.version = answered.version;
    found
}

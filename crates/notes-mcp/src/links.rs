//! Where a path leads when links are followed by hand, without touching anything outside.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io,
    os::{fd::AsFd, unix::ffi::OsStringExt},
    path::{Component, Path, PathBuf},
};

use rustix::{fs::readlinkat, io::Errno};

/// As many as the kernel follows (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// The path beneath `folder` that `name` leads to, without a link in it, or nothing where it leads out.
///
/// `at` is the folder's own path: an absolute link below it leads back in. A target outside is not looked at, so that the
/// answer does not tell whether there is one. The answer is a suggestion: links may change before the path is opened.
pub(crate) fn resolve(folder: impl AsFd, at: &Path, name: &str) -> io::Result<Option<PathBuf>> {
    follow(folder, at, name).map_err(|lost| lost.error)
}

/// Whether what is missing of `name` beneath `folder`, whose own path is `at`, is what a link leads to.
pub(crate) fn is_dangling(folder: impl AsFd, at: &Path, name: &str) -> bool {
    follow(folder, at, name)
        .is_err_and(|lost| lost.by_link && lost.error.kind() == io::ErrorKind::NotFound)
}

/// Where a path could be followed no further.
struct Lost {
    error: io::Error,
    /// Whether it was a link that led there, and not the name itself.
    by_link: bool,
}

fn follow(folder: impl AsFd, at: &Path, name: &str) -> Result<Option<PathBuf>, Lost> {
    let mut ahead: VecDeque<OsString> = parts(Path::new(name)).collect();
    let mut path = PathBuf::new();
    let mut followed = 0;
    // The last of those ahead are the name's own; what a link leads to comes before them.
    let mut own = ahead.len();
    while let Some(part) = ahead.pop_front() {
        let by_link = ahead.len() >= own;
        own = own.min(ahead.len());
        if part == ".." {
            if !path.pop() {
                return Ok(None);
            }
            continue;
        }
        path.push(&part);
        let target = match readlinkat(&folder, &path, Vec::new()) {
            Ok(target) => PathBuf::from(OsString::from_vec(target.into_bytes())),
            Err(Errno::INVAL) => continue,
            Err(error) => return Err(Lost { error: error.into(), by_link }),
        };
        followed += 1;
        if followed > MAX_LINKS {
            return Err(Lost { error: Errno::LOOP.into(), by_link });
        }
        path.pop();
        let rest = match target.strip_prefix(at) {
            Ok(inside) => {
                path = PathBuf::new();
                inside
            }
            Err(_) if target.is_absolute() => return Ok(None),
            Err(_) => &target,
        };
        for part in parts(rest).rev() {
            ahead.push_front(part);
        }
    }
    Ok(Some(path))
}

/// The parts of a path, with `..` among them; `.` and the root say nothing here.
fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

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
    let mut ahead: VecDeque<OsString> = parts(Path::new(name)).collect();
    let mut path = PathBuf::new();
    let mut followed = 0;
    while let Some(part) = ahead.pop_front() {
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
            Err(error) => return Err(error.into()),
        };
        followed += 1;
        if followed > MAX_LINKS {
            return Err(Errno::LOOP.into());
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

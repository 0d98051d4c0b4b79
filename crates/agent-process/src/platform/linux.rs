use std::{ffi::CStr, fs, io, path::PathBuf};

use rustix::process::DumpableBehavior;

use super::Entry;

/// Whether the system lists its processes.
pub(crate) const LISTS: bool = true;

/// Every process that can be seen; none where the system cannot list them.
pub(crate) fn processes() -> Option<Vec<Entry>> {
    let listed = fs::read_dir("/proc").ok()?;
    let ids = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Some(ids.filter_map(process).collect())
}

/// The process with this id, a zombie too.
pub(crate) fn process(id: u32) -> Option<Entry> {
    parse(id, &fs::read(format!("/proc/{id}/stat")).ok()?)
}

/// The value of a variable in the environment that a process was started with.
pub(crate) fn environment_value(id: u32, name: &str) -> Option<Vec<u8>> {
    let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
    let value = environment
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(value.to_vec())
}

/// The running program's file, the right one even where it was replaced or deleted since.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

/// Names this process, or rather its one thread, in lists of processes: by default it is called after its file.
pub(crate) fn name_self(name: &CStr) -> io::Result<()> {
    Ok(rustix::thread::set_name(name)?)
}

pub(crate) fn close_to_others() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// proc_pid_stat(5). The name in parentheses may hold anything, so the fields are counted from the last one.
fn parse(id: u32, stat: &[u8]) -> Option<Entry> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    Some(Entry {
        id,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::{Entry, parse, process};

    #[test]
    fn a_name_with_parentheses_and_spaces_shifts_no_field() {
        let stat = b"7 (a) R 1 (x) S 2 3 4 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 991 12 34";
        let expected = Entry { id: 7, parent: 2, group: 3, started: 991, zombie: false };
        assert_eq!(parse(7, stat), Some(expected));
        assert_eq!(parse(7, b"7 (short) S 2 3"), None);
        let own = process(std::process::id()).map(|own| (own.id, own.zombie));
        assert_eq!(own, Some((std::process::id(), false)));
    }
}

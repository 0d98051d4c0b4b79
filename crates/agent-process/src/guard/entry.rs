//! The lines that the program writes to its guard: `register NUMBER LEADER STARTED PRIORITY MARK` and `release NUMBER`, with
//! `-` for what is not known.

use super::Priority;
use crate::{Tree, mark::Mark};

const UNKNOWN: &str = "-";

#[derive(Debug)]
pub(super) enum Line {
    Register { number: u64, priority: Priority, tree: Tree },
    Release { number: u64 },
}

pub(super) fn register(number: u64, tree: &Tree, priority: Priority) -> String {
    let started = tree.started().map_or(UNKNOWN.to_owned(), |started| started.to_string());
    let mark = tree.mark().map_or(UNKNOWN, Mark::as_str);
    format!("register {number} {} {started} {} {mark}\n", tree.id(), priority.0)
}

pub(super) fn release(number: u64) -> String {
    format!("release {number}\n")
}

/// A line with its line feed; one without was cut off by the program's end and says nothing.
pub(super) fn parse(line: &str) -> Option<Line> {
    let words: Vec<&str> = line.strip_suffix('\n')?.split(' ').collect();
    match words[..] {
        ["register", number, leader, started, priority, mark] => Some(Line::Register {
            number: number.parse().ok()?,
            priority: Priority(priority.parse().ok()?),
            tree: Tree::from_parts(leader.parse().ok()?, started.parse().ok(), Mark::parse(mark)),
        }),
        ["release", number] => Some(Line::Release { number: number.parse().ok()? }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Priority, parse, register, release};
    use crate::{Tree, mark::Mark};

    #[test]
    fn a_line_comes_back_as_it_was_written_and_half_a_line_says_nothing() {
        let tree = Tree::from_parts(7, Some(99), Some(Mark::new("run", 3)));
        let line = register(4, &tree, Priority::ADAPTER);
        assert_eq!(line, "register 4 7 99 20 run.3\n");
        let Some(Line::Register { number: 4, priority: Priority::ADAPTER, tree }) = parse(&line)
        else {
            panic!("{line}")
        };
        assert_eq!((tree.id(), tree.started()), (7, Some(99)));
        assert_eq!(tree.mark().map(Mark::as_str), Some("run.3"));
        assert!(matches!(parse(&release(4)), Some(Line::Release { number: 4 })));
        let foreign = register(5, &Tree::from_parts(8, None, None), Priority(0));
        assert_eq!(foreign, "register 5 8 - 0 -\n");
        for bad in ["register 4 7 99 20 run.3", "register 4 7\n", "\n", "release x\n", ""] {
            assert!(parse(bad).is_none(), "{bad:?}");
        }
    }
}

//! Python's tracebacks, as far as they are the program's.

/// How a frame of a traceback begins.
const FRAME: &str = "  File \"";

/// A frame of what was evaluated itself.
const EVALUATED: &str = "  File \"<string>\"";

/// What stands in the paths of the debugger's own frames.
const OF_DEBUGGER: &str = "_pydevd_bundle";

/// How the lines of code below a frame begin.
const CODE: &str = "    ";

/// The text without the frames of the debugger that evaluated something: what is left is the exception, with the lines of code
/// or the frames of the program that it comes from.
pub(crate) fn own_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let is_outer = |line: &&str| {
        line.starts_with(EVALUATED) || line.starts_with(FRAME) && line.contains(OF_DEBUGGER)
    };
    let Some(last) = lines.iter().rposition(is_outer) else { return text.trim_end().to_owned() };
    let own = &lines[last + 1..];
    let code = match lines[last].starts_with(EVALUATED) {
        true => 0,
        false => own.iter().take_while(|line| line.starts_with(CODE)).count(),
    };
    own[code..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::own_lines;

    const DEBUGGER: &str = "Traceback (most recent call last):\n  File \"/d/_pydevd_bundle/pydevd_comm.py\", line 1258, in evaluate\n    \
                            exec_result = evaluate(expression)\n                  ^^^^^^^^^^\n";

    #[test]
    fn the_debuggers_frames_are_left_out_and_the_programs_are_not() {
        let cases = [
            (
                "  File \"<string>\", line 1\n    x =\n       ^\nSyntaxError: invalid syntax\n",
                "    x =\n       ^\nSyntaxError: invalid syntax",
            ),
            (
                "  File \"<string>\", line 1, in <module>\n  File \"/p/main.py\", line 3, in f\n    raise E(\"a\")\nE: a\nb\n",
                "  File \"/p/main.py\", line 3, in f\n    raise E(\"a\")\nE: a\nb",
            ),
            ("ZeroDivisionError: division by zero\n", "ZeroDivisionError: division by zero"),
        ];
        for (text, own) in cases {
            assert_eq!(own_lines(&format!("{DEBUGGER}{text}")), own);
        }
    }

    #[test]
    fn what_is_no_traceback_stays() {
        assert_eq!(own_lines("NameError: name 'x'\n"), "NameError: name 'x'");
        assert_eq!(own_lines("error: <user expression>:1:1"), "error: <user expression>:1:1");
    }
}

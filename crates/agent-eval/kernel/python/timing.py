"""`%time`, `%timeit` and their cells."""

import re
import time

from agent_eval_kernel.state import STATE

# Bound here: cells patch clocks.
_wall, _processor = time.perf_counter, time.process_time

OPTION = re.compile(r"\s*-(?:(n|r)\s*(\d+)|(?:q|o|p\s*\d+|c|t))(?=\s|$)\s*")
REPEAT = 7
UNITS = (("s", 1), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))


def timed(run):
    """Runs something and prints what it took, also when it fails."""
    wall, processor = _wall(), _processor()
    try:
        return run()
    finally:
        print("CPU times: %s" % _seconds(_processor() - processor))
        print("Wall time: %s" % _seconds(_wall() - wall))


def timeit(arguments, setup=None):
    """Prints mean and deviation of the time of a statement, which leaves no name behind."""
    import statistics
    import timeit as standard

    options, statement = _options(arguments)
    timer = standard.Timer(statement, setup or "pass", globals=STATE.namespace)
    loops = options.get("n") or timer.autorange()[0]
    repeat = options.get("r", REPEAT)
    times = [total / loops for total in timer.repeat(repeat, loops)]
    print("%s ± %s per loop (mean ± std. dev. of %d run%s, %s loop%s each)" % (
        _seconds(statistics.mean(times)), _seconds(statistics.pstdev(times)),
        len(times), _s(len(times)), format(loops, ","), _s(loops)))


def timeit_cell(arguments, body):
    """`%%timeit setup`: the body is timed, the rest of the line is set up once."""
    options, setup = _options(arguments)
    flags = "".join("-%s %d " % option for option in options.items())
    timeit(flags + body, setup.strip() or None)


def _options(arguments):
    options = {}
    match = OPTION.match(arguments)
    while match:
        if match.group(1):
            options[match.group(1)] = int(match.group(2))
        arguments = arguments[match.end():]
        match = OPTION.match(arguments)
    return options, arguments


def _s(count):
    return "" if count == 1 else "s"


def _seconds(seconds):
    for unit, factor in UNITS:
        if seconds * factor >= 1:
            return "%.3g %s" % (seconds * factor, unit)
    return "%.3g ns" % (seconds * 1e9)

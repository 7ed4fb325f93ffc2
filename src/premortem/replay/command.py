"""`premortem replay`: its options, and the page it ends with."""

from collections.abc import Sequence
from pathlib import Path

from premortem.command_line import Parser, formatted, limited
from premortem.errors import UsageError
from premortem.events import Autopsied
from premortem.files import private
from premortem.files.untrusted import loads
from premortem.journal.later import add

FAILURE = 1
RUNS = Path(".premortem", "runs")


def parser() -> Parser:
    made = Parser(
        prog="premortem replay",
        usage="premortem replay [options] [CAPSULE]",
        description="Run a failed step again, op by op, then with one thing changed at a time, until its cause is proved. "
        "The script is started again; what it writes goes to a folder that is thrown away.",
    )
    made.add_argument(
        "capsule",
        type=Path,
        nargs="?",
        metavar="CAPSULE",
        help="a folder capsules/step-N of a run; of a run, its first one; without it, the newest failure of the newest run",
    )
    made.add_argument("--device", metavar="cpu", help="cpu: hide the GPUs from the script")
    made.add_argument("--cwd", type=Path, metavar="DIR", help="where the script is, if not where it was")
    made.add_argument(
        "--trust", action="store_true", help="start the command of a capsule that came from elsewhere"
    )
    limited(made, 600.0)
    made.add_argument(
        "--quick", action="store_true", help="reproduce it, name operation and samples; try no other changes"
    )
    made.add_argument("--show-output", action="store_true", help="show what the script prints")
    made.add_argument("--json", type=Path, metavar="FILE.json", help="write what was found to this file")
    formatted(made)
    made.set_defaults(quiet=False)
    return made


def call(tokens: Sequence[str]) -> int:
    options = parser().parse(tokens)
    if options.device not in {None, "cpu"}:
        raise UsageError(f"a replay cannot move a script to `{options.device}`; there is --device cpu")

    from premortem.replay import director, page
    from premortem.replay.rank_capsules import found, newest
    from premortem.terminal import pages
    from premortem.terminal.interruption import exit_code
    from premortem.terminal.progress import progress

    capsule = newest(RUNS) if options.capsule is None else found(options.capsule)
    with progress("replay", "reading the capsule", quiet=options.show_output) as shown:
        done = director.replay(
            director.ReplayOptions(
                capsule=capsule,
                cwd=options.cwd,
                cpu=options.device == "cpu",
                trust=options.trust,
                quick=options.quick,
                show_output=options.show_output,
                seconds=options.seconds,
                shown=shown,
            )
        )
    page.show(done, pages.terminal(quiet=options.quiet, width=None))
    record = page.record(done, capsule)
    if options.json is not None:
        private.write_text(options.json, record)
    if done.report.reproduced:  # a report that is made from now on shows what was proved
        add(capsule.parent.parent, Autopsied(step=done.manifest["number"], record=loads(record)))
    if done.interrupted is not None:
        return exit_code(done.interrupted)
    return 0 if done.report.reproduced else FAILURE

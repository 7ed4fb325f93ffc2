"""`premortem why train.py ARGS…`"""

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

from premortem.command_line import Command
from premortem.errors import PremortemError, UsageError
from premortem.files import private
from premortem.why.proposals import text_of
from premortem.why.verdict import CANNOT_RUN, CAUSE

FOUND, CANNOT = 1, 4


def run(options: argparse.Namespace, command: Command) -> int:
    """0 when nothing was found, 1 when a cause was, 4 when the script could not be tried."""
    command.needs_a_script("why")
    if options.minutes <= 0:
        raise UsageError("`--minutes` is the time for all trials: more than 0")
    if options.seeds < 2:
        raise UsageError("`--seeds` shows how much chance matters: at least 2")

    from premortem import settings
    from premortem.terminal import pages
    from premortem.terminal.interruption import exit_code
    from premortem.terminal.progress import progress
    from premortem.why import earlier, page, proposals, record, side_by_side, source
    from premortem.why.director import Director, Why, WhyOptions
    from premortem.why.rounds import Rounds

    asked = settings.shared(command.folder, options.select, options.ignore)
    if asked.words():
        from premortem import catalog

        catalog.check(asked)
    silence = settings.Silence(asked)
    argv, cwd, reported = _asked(command)
    reported, _silenced = silence.without(reported)
    proposed = proposals.read(options.fixes or [], options.settings or [], argv, cwd)
    terminal = pages.terminal(quiet=options.quiet)
    rows = page.Rows(terminal)
    rows.before(reported)
    done, interrupted = Why(), None
    try:
        with progress("why", quiet=options.quiet) as shown:
            director = Director(
                WhyOptions(
                    argv=argv,
                    cwd=cwd,
                    minutes=options.minutes,
                    seeds=options.seeds,
                    jobs=side_by_side.lanes(),
                    reported=reported,
                    proposals=proposed,
                    silence=silence,
                    shown=shown,
                    tell=rows.add,
                ),
                done,
            )
            with closing(director):
                if director.as_it_is():
                    rows.as_it_is(done)
                    Rounds(director).run()
                    page.conclude(done)
                    source.verify(director, done, proposed)
                    done.seconds = director.spent
                    earlier.keep(director, record.record(done), command.target)
    except KeyboardInterrupt as error:
        interrupted, done.interrupted = error, True
        if done.rows and done.verdict is None:
            page.conclude(done)  # of what is known so far
    page.show_end(done, terminal)
    _write(options, done, terminal)
    if interrupted is not None:
        return exit_code(interrupted)
    return _code(done)


def _asked(command: Command) -> tuple[list[str], Path, list[dict[str, Any]]]:
    """What to run, where, and what an earlier run of it has found."""
    from premortem.why import earlier

    argv = [*(["-m"] if command.module else []), command.target, *command.argv]
    if not command.module and (before := earlier.run_of(command.target)) is not None:
        if command.argv:
            raise UsageError("a run has its own arguments; give the script to run it with others")
        return before
    return argv, Path.cwd(), []


def _write(options: argparse.Namespace, done: Any, terminal: Any) -> None:
    from premortem.why import page, record

    if options.json is not None:
        private.write_text(options.json, record.record(done))
    patch = done.patch
    if options.patch is not None and patch is not None:
        private.write_text(options.patch, patch["diff"])
        page.line(terminal, "written", f"{options.patch}; from this folder: git apply -p0 {options.patch}")
    if not options.apply:
        return
    if patch is None or not patch["verified"]:
        page.line(terminal, "not applied", "there is no fix that was verified")
        return
    for path, before in patch["before_files"].items():  # they may have been edited meanwhile
        if not Path(path).is_file() or text_of(Path(path)) != before:
            raise PremortemError(f"`{path}` is not the file that was tried any more: the fix was not applied")
    for path, text in patch["files"].items():
        try:
            Path(path).write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise PremortemError(f"`{path}` cannot be written ({error.strerror})") from None
        page.line(terminal, "applied", path)


def _code(done: Any) -> int:
    if done.verdict is None or done.verdict.verdict == CANNOT_RUN:
        return CANNOT
    return FOUND if done.verdict.verdict == CAUSE else 0

"""`premortem run`: its options, and how it begins."""

from __future__ import annotations

import functools
from argparse import BooleanOptionalAction
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from premortem import policy, settings
from premortem.command_line import Parser, not_over_code, silencing
from premortem.errors import UsageError

if TYPE_CHECKING:
    from premortem.sinks.base import Sink

POLICIES = tuple(policy.ALL)


def parser() -> Parser:
    made = Parser(
        prog="premortem run",
        usage="premortem run [options] script.py ARGS...\n       premortem run [options] -m module ARGS...",
        description="Run a training script under supervision. Whatever follows its name belongs to the script.",
    )
    made.add_argument("--findings", type=Path, metavar="FILE.json", help="write what was found to this file")
    made.add_argument(
        "--policy",
        default="protect",
        metavar="|".join(POLICIES),
        help="protect refuses updates that would ruin the weights (default), "
        "observe only reports, strict stops at the first error",
    )
    silencing(made)
    made.add_argument("--quiet", action="store_true", help="print nothing")
    made.add_argument("--no-status", action="store_true", help="no line about the run on the terminal")
    made.add_argument("--folder", type=Path, metavar="DIR", help="keep the journal here")
    made.add_argument(
        "--autopsy",
        action=BooleanOptionalAction,
        default=True,
        help="run a step that failed again beside the run, or at its end, and name the operation (default)",
    )
    made.add_argument(
        "--quarantine",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="FILE.json",
        help="leave out the samples that an earlier run has found to be broken: those of this file, "
        "or of the newest run here that has found any",
    )
    made.add_argument(
        "--mirror", metavar="URL", help="copy checkpoints there too: a folder, s3://, gs://, ssh://, hf://"
    )
    made.add_argument(
        "--publish",
        metavar="URL",
        help="keep a copy of the journal there while it trains, for `premortem ui URL`: a folder, s3://, gs://, ssh://",
    )
    made.add_argument(
        "--deadline",
        metavar="9h|17:30|slurm|kaggle|colab|auto",
        help="save and stop in time before this",
    )
    made.add_argument(
        "--sink",
        action="append",
        default=[],
        metavar="tensorboard:DIR|mlflow|wandb",
        help="mark findings on the run over there too; may be given more than once",
    )
    made.add_argument(
        "--notify",
        action="append",
        default=[],
        metavar="URL|mailto:ADDRESS|COMMAND",
        help="send findings and the end of the run to a webhook, by e-mail or to a shell command",
    )
    made.add_argument(
        "--nproc", metavar="N|gpu", help="start so many ranks with torchrun, each of them watched"
    )
    made.add_argument(
        "--max-restarts",
        metavar="N",
        help="with --nproc: how often all ranks are started again after one has failed",
    )
    made.add_argument("-m", action="store_true", help="the name is a module's, as in `python -m`")
    return made


def call(tokens: Sequence[str]) -> int:
    options, command = settings.asked(parser(), "run", tokens)
    command.needs_a_script("run")
    policy.by_name(options.policy)
    not_over_code(options, "findings")

    asked = settings.shared(command.folder, options.select, options.ignore)
    if asked.words():
        from premortem import catalog

        catalog.check(asked)

    deadline = None
    if options.deadline is not None:
        from premortem.vault.deadline import parse

        deadline = parse(options.deadline)
    for url in filter(None, (options.mirror, options.publish)):
        from premortem.vault.remote import Remote

        Remote(url).check()

    left_out = None
    if options.quarantine is not None:
        from premortem.run import quarantine

        left_out = quarantine.read(options.quarantine if options.quarantine != Path() else None)

    if options.nproc is not None:
        from premortem.command_line import without
        from premortem.ranks import torchrun

        own = without(without(command.options, "--nproc"), "--max-restarts")
        program = [*(["-m"] if command.module else []), command.target, *command.argv]
        restarts = options.max_restarts or "0"
        look = functools.partial(_autopsy, quiet=options.quiet) if options.autopsy else None
        return torchrun.run(
            options.nproc, restarts, own, program, options.folder, quiet=options.quiet, autopsy=look
        )
    if options.max_restarts is not None:
        raise UsageError("`--max-restarts` is for several ranks; give `--nproc` too, or use torchrun's own")

    sinks: list[Sink] = []
    if options.sink or options.notify:
        from premortem.sinks import chosen

        sinks = chosen(options.sink, options.notify)

    from premortem.vault.garbage import uncollected

    with uncollected():
        from premortem.run import launch
        from premortem.run.options import RunOptions

    return launch.run(
        RunOptions(
            target=command.target,
            module=command.module,
            argv=command.argv,
            given=command.options,
            findings=options.findings,
            policy=options.policy,
            quiet=options.quiet,
            status=not options.no_status,
            folder=options.folder,
            autopsy=options.autopsy,
            quarantine=left_out,
            mirror=_absolute(options.mirror),
            publish=_absolute(options.publish),
            deadline=deadline,
            sinks=sinks,
            settings=asked,
        )
    )


def _autopsy(folder: Path, *, quiet: bool) -> None:
    from premortem.run import launch
    from premortem.terminal.console import Console

    launch.autopsy([folder] if any(folder.glob("rank-*/**/capsule.json")) else [], Console(mute=quiet))


def _absolute(url: str | None) -> str | None:
    """A folder stays the same one when the script goes to another."""
    return str(Path(url).absolute()) if url is not None and "://" not in url else url

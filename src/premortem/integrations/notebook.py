"""IPython and Jupyter: `%load_ext premortem`, then `%%premortem` on a cell that trains.

    %%premortem --policy observe --sink tensorboard:runs
    train(model, loader)

Before the cell runs, modules that have changed on the disk since they were imported are named: what runs is the old
code. After it, a card says what was found.
"""

from __future__ import annotations

import io
import shlex
from contextlib import redirect_stderr
from typing import Any

from IPython.display import HTML, display

import premortem
from premortem.arguments import Parser
from premortem.errors import PremortemError
from premortem.findings import Finding
from premortem.integrations.card import card
from premortem.sinks.base import Outcome
from premortem.watcher import watch


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext premortem` calls."""
    shell.register_magic_function(Magic(shell), magic_kind="cell", magic_name="premortem")


def cell_parser() -> Parser:
    parser = Parser(
        prog="%%premortem", usage="%%premortem [options]", description="Watch the training in this cell."
    )
    parser.add_argument("--policy", default="observe", metavar="observe|protect|strict")
    parser.add_argument("--sink", action="append", default=[], metavar="tensorboard:DIR|mlflow|wandb")
    parser.add_argument("--notify", action="append", default=[], metavar="URL|mailto:ADDRESS|COMMAND")
    return parser


class Magic:
    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def __call__(self, line: str, cell: str) -> None:
        """Run the cell, watched."""
        try:
            options = cell_parser().parse(shlex.split(line))
            watching = watch(policy=options.policy, quiet=True, sinks=options.sink, notify=options.notify)
        except (PremortemError, ValueError) as error:
            display(HTML(card([], f"premortem: {error}")))
            return
        stale = stale_modules()
        if stale:
            display(HTML(card(stale, "premortem, before this cell ran")))
        raised = self._run(cell, watching)
        outcome = Outcome(steps=watching.steps, findings=watching.findings)
        ended = "" if raised is None else f", then {type(raised).__name__}"
        headline = f"premortem watched {outcome.steps} steps{ended}: {outcome.verdict}"
        display(HTML(card(outcome.findings, headline)))

    def _run(self, cell: str, watching: watch) -> BaseException | None:
        error: BaseException | None = None
        try:
            result = self._shell.run_cell(cell)  # shows its error itself
            error = result.error_before_exec or result.error_in_exec
        finally:
            watching.__exit__(type(error) if error is not None else None, error, None)
        return error


def stale_modules() -> list[Finding]:
    try:
        with redirect_stderr(io.StringIO()):  # the card says it
            return premortem.check_modules()
    except Exception:  # noqa: BLE001 - a courtesy before the cell must not keep it from running
        return []

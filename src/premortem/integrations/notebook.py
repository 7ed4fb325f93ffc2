"""IPython and Jupyter: `%load_ext premortem`, then `%%premortem` on a cell that trains.

    %%premortem --policy observe --sink tensorboard:runs
    train(model, loader)

What it shows is what `premortem.watch` shows in IPython (`notebook/ipython.py`).
"""

from __future__ import annotations

import shlex
from typing import Any

from premortem.command_line import Parser
from premortem.errors import PremortemError
from premortem.notebook.ipython import Lines, face
from premortem.run.watch import watch


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
            watching = watch(policy=options.policy, sinks=options.sink, notify=options.notify)
        except (PremortemError, ValueError) as error:
            (face() or Lines()).problem(str(error))
            return
        self._run(cell, watching)

    def _run(self, cell: str, watching: watch) -> None:
        error: BaseException | None = None
        try:
            result = self._shell.run_cell(cell)  # shows its error itself
            error = result.error_before_exec or result.error_in_exec
        finally:
            watching.__exit__(type(error) if error is not None else None, error, None)

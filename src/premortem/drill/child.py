"""In its own process the user's script runs: `python -m premortem.drill.child ORDER.json`.

witness, mutant.under   below: what really happens, and what the machine does
premortem               as `premortem run` attaches it
mutant.over             above: what the script does
the script              from its first line to the limit
"""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem.console import Console
from premortem.drill.order import Order
from premortem.errors import UsageError
from premortem.findings import Finding
from premortem.launch import RunOptions, Supervision
from premortem.plain import dumps
from premortem.program import Ending, Program
from premortem.proof.overlay import Overlay

SEED = 20


class Stopwatch(Console):
    """Notes when a finding came; prints nothing."""

    def __init__(self, child: Child) -> None:
        super().__init__(quiet=True)
        self._child = child

    def finding(self, finding: Finding) -> None:
        self._child.tell(told=finding.code, seconds=self._child.witness.seconds)


class Child:
    def __init__(self, order: Order) -> None:
        self.order = order
        # Opened before the overlay covers `open`, and never closed: a mutant may end the process.
        self._log = Path(order.results).open("w", encoding="utf-8")  # noqa: SIM115

    def run(self) -> None:
        order = self.order
        module = order.argv[0] == "-m"
        program = Program(target=order.argv[module], module=module, argv=order.argv[1 + module :])
        try:
            program.check()
        except UsageError as error:
            self.tell(ended=str(error))
            return
        overlay = Overlay(Path(order.scratch))
        overlay.install()
        _seed()
        overlay.cover_torch()

        from premortem.drill.mutants import by_name
        from premortem.drill.stage import Stage
        from premortem.drill.witness import Witness

        self.witness = Witness(order)
        self.witness.install()
        stage = Stage()
        mutant = by_name(order.mutant)(stage, order) if order.mutant else None
        if mutant is not None:
            mutant.tell = self.tell  # type: ignore[method-assign]
            mutant.under()
        supervision = self._supervise(program, module=module) if order.watched else None
        if supervision is not None:
            stage.session = session_of(supervision)
            self.witness.apart = lambda: stage.session.looking_at("drill")
        if mutant is not None:
            mutant.over()
        ending = program.run()
        if self.witness.cut:  # whoever counts on the whole run must not speak as if it had been
            ending = Ending(reason="interrupted", exit_code=0)
        self.witness.look("end")
        facts = {
            name: getattr(self.witness, name) for name in ("steps", "backwards", "saves", "cut", "prints")
        }
        if mutant is not None:
            facts.update(touched=mutant.touched, detail=mutant.detail)
        self.tell(**facts, step_seconds=self.witness.step_seconds)
        if supervision is not None:
            supervision.end(ending)
        how = f"{ending.error}: {ending.message}" if ending.error else ending.reason
        self.tell(ended=how[:500])

    def _supervise(self, program: Program, *, module: bool) -> Supervision:
        scratch = Path(self.order.scratch)
        options = RunOptions(
            target=program.target,
            module=module,
            argv=program.argv,
            findings=scratch / "findings.json",
            quiet=True,
            folder=scratch / "watched",
        )
        supervision = Supervision(options, Stopwatch(self))
        supervision.begin(program)
        return supervision

    def tell(self, **facts: Any) -> None:
        self._log.write(dumps(facts) + "\n")
        self._log.flush()


def session_of(supervision: Supervision) -> Any:
    """To know when premortem itself is using torch."""
    attachment = supervision.watcher._attachment if supervision.watcher is not None else None  # noqa: SLF001
    if attachment is None:
        raise RuntimeError("premortem did not attach")
    return attachment.session


def _seed() -> None:
    """A script that sets no seed is the same script each time all the same."""
    import torch

    random.seed(SEED)
    torch.manual_seed(SEED)
    with suppress(ImportError):
        import numpy as np

        np.random.seed(SEED)  # noqa: NPY002 - what a script that uses it draws from


if __name__ == "__main__":
    Child(Order.read(Path(sys.argv[1]))).run()

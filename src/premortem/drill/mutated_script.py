"""In its own process the user's script runs.

witness      below: what really happens
premortem    as `premortem run` attaches it
mutant       a change that harms (`changes/`): above premortem what the script does, below it what the machine does
the script   from its first line to the limit
"""

from __future__ import annotations

import random
from contextlib import suppress

from premortem.drill.order import Order
from premortem.findings import Finding
from premortem.program.running import Ending
from premortem.run.options import RunOptions
from premortem.run.supervision import Supervision
from premortem.scriptrun.script_process import Played
from premortem.terminal.console import Console

SEED = 20


class Stopwatch(Console):
    """Notes when a finding came; prints nothing."""

    def __init__(self, child: Child) -> None:
        super().__init__(quiet=True)
        self._child = child

    def finding(self, finding: Finding) -> None:
        self._child.tell(reported=finding.code, seconds=self._child.witness.seconds)


class Child:
    def __init__(self, played: Played) -> None:
        self.played = played
        self.order = Order.from_json(played.order)
        self.tell = played.tell

    def run(self) -> None:
        order, program = self.order, self.played.program
        _seed()

        from premortem import changes
        from premortem.changes.reach import Reach
        from premortem.drill.true_counts import TrueCounts

        self.witness = TrueCounts(order)
        self.witness.install()
        supervision = self._supervise() if order.watched else None
        reach = Reach()
        if supervision is not None:
            session = supervision.session
            self.witness.apart = lambda: session.looking_at("drill")
            reach = Reach(ours=lambda: bool(session.looking))
        mutant = None
        if order.mutant:
            known = changes.RunDescription(backwards_per_step=order.per_step, saves=order.saves)
            mutant = changes.of("harm")[order.mutant](reach, known)
            mutant.tell = self.tell  # type: ignore[method-assign]
            mutant.put_on()
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

    def _supervise(self) -> Supervision:
        program, shared = self.played.program, self.played.shared / self.order.folder
        shared.mkdir()
        options = RunOptions.of(
            program,
            findings=shared / "findings.json",
            quiet=True,
            folder=shared / "watched",
            reads=False,  # a mutant changes what runs, not what stands in the file
        )
        supervision = Supervision(options, Stopwatch(self))
        supervision.begin(program)
        return supervision


def _seed() -> None:
    """A script that sets no seed is the same script each time all the same."""
    import torch

    random.seed(SEED)
    torch.manual_seed(SEED)
    with suppress(ImportError):
        import numpy as np

        np.random.seed(SEED)  # noqa: NPY002 - what a script that uses it draws from


def play(played: Played) -> None:
    Child(played).run()


def warm() -> None:
    """Loaded once for all runs of the script."""
    import premortem.changes.reach
    import premortem.run.watcher  # noqa: F401

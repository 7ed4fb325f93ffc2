"""In its own process the user's script runs, with at most one thing changed.

files        sources that are different are written into the sandbox, where they are thrown away
seeds        shifted
premortem    in the first run, as `premortem run --policy observe` attaches it
the change   from `changes/`
measuring    above all of it
the script   from its first line to the limit
"""

import json
import sys
from contextlib import nullcontext
from pathlib import Path

from premortem.amounts import peak
from premortem.changes import Change
from premortem.changes.reach import Reach
from premortem.probes.session import is_user_code
from premortem.program.running import Ending
from premortem.run.options import RunOptions
from premortem.run.supervision import Supervision
from premortem.scriptrun.script_process import Played
from premortem.settings import Shared
from premortem.terminal.console import Console
from premortem.why import seeds
from premortem.why.facts import Facts
from premortem.why.fork_place import ForkPlace, made
from premortem.why.generated import Generated
from premortem.why.measuring import Measuring
from premortem.why.order import Order
from premortem.why.rows_seen import RowsSeen

FINDINGS = "findings.json"
_MEASURED = (
    "losses fits norms targets backwards steps cut hopeless constant step_seconds start_seconds".split()
)


def play(played: Played) -> None:
    Trial(played).run()


class Trial:
    """One run of the script. The order may come when the script has begun already (`fork_place.py`)."""

    def __init__(self, played: Played) -> None:
        self.played, self.order = played, Order.from_json(played.order)
        self.supervision: Supervision | None = None
        self.changes: list[Change] = []

    def run(self) -> None:
        order, program = self.order, self.played.program
        for path, text in order.files.items():
            Path(path).write_text(text, encoding="utf-8")
        if order.files:
            program.check()  # reads it
        seeds.shift(order.seed)
        if order.waits:
            ForkPlace(self.played, order, self.begin).install()
        else:
            self.begin(order)
        self._end(program.run())

    def begin(self, order: Order) -> None:
        """From here on the run is the one that was ordered."""
        self.order = order
        self.supervision = _supervise(self.played, order) if order.watched else None
        session = self.supervision.session if self.supervision is not None else None

        def ours() -> bool:
            return bool(session is not None and session.looking)

        reach = Reach(ours=ours)
        apart = (lambda: session.looking_at("why")) if session is not None else nullcontext
        self.facts = None
        if order.change:
            self.changes = made(order, ours)
            for change in self.changes:
                change.put_on()
        elif order.watched:
            self.facts = Facts(reach, apart)
            self.facts.install()
        self.rows, self.generated = RowsSeen(), Generated(apart)
        self.generated.install(reach)
        if order.rows:
            self.rows.install(reach)
        self.measuring = Measuring(order, reach.ours, apart)
        self.measuring.on_first = lambda: self.played.tell(
            backwards=1
        )  # for one that is ended before it tells the rest
        self.measuring.install()
        if self.facts is not None:
            self.measuring.on_backward.append(self.facts.heard)

    def _end(self, ending: Ending) -> None:
        played, measuring, facts = self.played, self.measuring, self.facts
        played.tell(**{name: getattr(measuring, name) for name in _MEASURED})
        played.tell(memory=peak(), gpu=_gpu())
        played.tell(same_rows=self.rows.share, outputs=self.rows.outputs, apart=self.generated.distances)
        if self.changes:
            played.tell(touched=min(change.touched for change in self.changes))
        if facts is not None:
            loaded = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
            files = {each for each in loaded if each.endswith(".py") and is_user_code(each)}
            played.tell(facts=facts.told(), where=facts.where, files=sorted(files))
        if self.supervision is not None:
            # Whoever counts on the whole run must not speak as if it had been.
            self.supervision.end(Ending(reason="interrupted", exit_code=0) if measuring.cut else ending)
            found = json.loads(_findings(played, self.order).read_text(encoding="utf-8"))["findings"]
            played.tell(findings=found)
        how = f"{ending.error}: {ending.message}" if ending.error else ending.reason
        played.tell(ended="enough" if measuring.cut else how[:500])


def _gpu() -> list[int]:
    """The most bytes that torch has had on the GPU, and how many are free there now; nothing where the script uses none."""
    import torch

    if not torch.cuda.is_initialized():
        return []
    return [int(torch.cuda.max_memory_reserved()), int(torch.cuda.mem_get_info()[0])]


def _findings(played: Played, order: Order) -> Path:
    return played.shared / order.folder / FINDINGS


def _supervise(played: Played, order: Order) -> Supervision:
    program = played.program
    folder = played.shared / order.folder
    folder.mkdir(exist_ok=True)
    options = RunOptions.of(
        program,
        findings=folder / FINDINGS,
        policy="observe",
        quiet=True,
        autopsy=False,
        settings=Shared(comments=False),  # `why` silences, and counts
        folder=folder / "watched",
    )
    supervision = Supervision(options, Console(quiet=True))
    supervision.begin(program)
    return supervision


def warm() -> None:
    """Loaded once for all trials, as this module is."""
    import torch._dynamo  # noqa: F401 - which the first optimizer would load, in each trial

    import premortem.run.watcher  # noqa: F401

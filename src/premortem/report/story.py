"""Everything that a page shows of a run, read from the journal once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from premortem.amounts import short
from premortem.errors import JournalError, PremortemError
from premortem.findings import Severity
from premortem.journal import Fault, Number, Run
from premortem.metric_words import COUNTERS
from premortem.report import (
    checkpoints,
    curves,
    finding_view,
    inflow,
    layers,
    parameter_audit,
    proof,
    setup,
    trials,
    verdict,
)
from premortem.report.curves import Curve
from premortem.report.setup import Fact

RATE = "learning rate"
OPTIMIZERS = 4  # whose curves are drawn: those with the most steps
METRICS = 8
EVENTS = 300
# Numbers that are printed to say how far it is, and not how well it goes.
_COUNTERS = COUNTERS | frozenset(
    "of time eta seed sample samples size total param params parameter parameters rank device gpu sec seconds min "
    "minutes".split()
)
_TIMES = {
    "data": "waiting for data",
    "forward": "forward and loss",
    "backward": "backward",
    "optimizer": "optimizer",
    "saving": "saving and loading",
    "compiling": "compiling",
    "importing": "importing",
    "premortem": "premortem",
    "script": "the script's own code",
}


class Share(NamedTuple):
    what: str
    share: float
    samples: int


class Mark(NamedTuple):
    """Something that happened at a step: shown below the curves."""

    step: int
    what: str


@dataclass(slots=True)
class Story:
    path: Path
    meta: dict[str, Any]
    steps: int
    verdict: verdict.Verdict
    findings: list[finding_view.FindingView]
    curves: dict[str, dict[str, Curve]]  # a plot each: name of a line → its curve
    metrics: dict[str, Curve]
    marks: list[Mark]
    refused: int
    heats: list[layers.Heat]
    ledgers: list[dict[str, Any]]
    chains: list[parameter_audit.Chain]
    flows: list[inflow.Flow]
    times: list[Share]
    rate: float | None
    memory: dict[str, Curve]
    saved: list[checkpoints.Saved]
    safest: str
    setup: list[Fact]
    environment: list[Fact]
    command: str
    code: dict[str, str]
    sources: dict[str, str]
    faults: list[Fault]
    trials: trials.Trials | None = None  # of `premortem why`

    @property
    def name(self) -> str:
        folder = self.path.parent.name
        return folder if folder not in {"", "."} else self.path.name

    @property
    def answer(self) -> finding_view.FindingView | None:
        """What the page begins with: the worst finding, unless it is only a remark."""
        first = next(iter(self.findings), None)
        return first if first is not None and first.finding.severity is not Severity.INFO else None

    @property
    def constant_rate(self) -> float | None:
        """The learning rate, where it was the same in all steps: a number says that better than a plot."""
        lines = list(self.curves.get(RATE, {}).values())
        values = {value for curve in lines for value in (curve.low, curve.high)}
        return values.pop() if len(values) == 1 and not any(curve.gaps for curve in lines) else None

    @property
    def drawn(self) -> dict[str, dict[str, Curve]]:
        """The plots of its numbers."""
        constant = self.constant_rate is not None
        return {name: lines for name, lines in self.curves.items() if name != RATE or not constant}

    @property
    def script(self) -> str:
        argv = self.meta.get("argv") or ["?"]
        return str(argv[1] if argv[0] == "-m" and len(argv) > 1 else argv[0])


def read(journal: Path) -> Story:
    """Raises JournalError."""
    journal = journal.absolute()
    with readable(journal):
        return _read(journal)


@contextmanager
def readable(*journals: Path) -> Iterator[None]:
    """SQLite may find nothing wrong with a journal whose records are not what they were; whatever then goes wrong
    while they are read or drawn is a JournalError."""
    try:
        yield
    except PremortemError:
        raise
    except Exception as error:
        which = " or ".join(map(str, journals))
        why = f"{type(error).__name__}: {error}"[:300]
        raise JournalError(f"the journal {which} is damaged ({why})") from error


def _read(journal: Path) -> Story:
    with Run(journal) as run:
        meta, latest, newest = run.meta, run.latest(), run.newest()
        meta["seconds"] = verdict.seconds(meta, newest and newest.time) or meta.get("seconds")
        found = finding_view.views(run)
        drawn = dict(_step_curves(run))
        reached = max(
            (int(curve.x[-1]) for lines in drawn.values() for curve in lines.values() if curve.x), default=0
        )
        steps = max(int(meta.get("steps") or 0), reached)
        numbers = run.numbers()
        gauges = {name for name in {each.name for each in numbers} if _is_gauge(name)}
        listed = checkpoints.saved(run, journal.parent)
        tried = trials.of(run)
        for view in found:
            view.proof = proof.proof(view.finding, short(journal.parent), tried)
            view.patch = proof.patch(view.finding, tried) or view.patch
        return Story(
            trials=tried,
            path=journal,
            meta=meta,
            steps=steps,
            verdict=verdict.verdict(found, meta, steps, journal),
            findings=found,
            curves=drawn,
            metrics=_metrics(each for each in numbers if each.name not in gauges),
            marks=list(_marks(run)),
            refused=len(run.events("StepRefused")),
            heats=layers.heats(run),
            ledgers=[each for each in latest.get("loss ledger") or [] if each["terms"]],
            chains=parameter_audit.chains(latest),
            flows=inflow.flows(run),
            times=_times(latest.get("time") or {}),
            rate=_rate(run, steps),
            memory=_by_name((each for each in numbers if each.name in gauges), in_minutes=True),
            saved=listed,
            safest=checkpoints.safest(listed),
            setup=setup.setup(run),
            environment=setup.environment(meta, latest),
            command=setup.command(meta),
            code=latest.get("code") or {},
            sources=run.sources(),
            faults=run.faults()[:20],
        )


def _step_curves(run: Run) -> Iterator[tuple[str, dict[str, Curve]]]:
    counts = run.optimizers()
    chosen = sorted(counts, key=lambda key: -counts[key])[:OPTIMIZERS]
    lines: dict[str, dict[str, Curve]] = {"loss": {}, "gradient norm": {}, RATE: {}}
    for optimizer in sorted(chosen):
        blocks = run.blocks(optimizer, curves.block_size(counts[optimizer]))
        made = curves.of_blocks(((block.step, block[1:]) for block in blocks), 3)
        name = "" if len(chosen) == 1 else f"optimizer {optimizer}"
        for plot, curve in zip(lines.values(), made, strict=True):
            if curve.count:
                plot[name] = curve
    if lines["gradient norm"]:
        lines["gradient norm"] |= _clipping(run)
    yield from ((name, plot) for name, plot in lines.items() if plot)


def _clipping(run: Run) -> dict[str, Curve]:
    """The steps know the norm after clipping: what it was before, and the limit, as far as clipping was looked at."""
    clips = [clip for clip in run.events("Clip") if clip["kind"] == "norm" and not clip["empty"]]
    measured = [clip for clip in clips if isinstance(clip["norm"], (int, float))]
    found = {
        "before clipping": ([clip["step"] + 1 for clip in measured], [clip["norm"] for clip in measured]),
        "limit": ([clip["step"] + 1 for clip in clips], [clip["limit"] for clip in clips]),
    }
    return {name: curves.of_values(x, y) for name, (x, y) in found.items() if x}


def _is_gauge(name: str) -> bool:
    return name == "memory of the process" or name.startswith("GPU ")


def _metrics(numbers: Iterator[Number]) -> dict[str, Curve]:
    """What the script printed about how well it goes. A number that is printed once is not a series."""
    found = _by_name(each for each in numbers if each.name not in _COUNTERS and not each.name.endswith("/s"))
    series = {name: curve for name, curve in found.items() if curve.count > 1}
    ranked = sorted(series, key=lambda name: (not _is_metric(name), -series[name].count))[:METRICS]
    return {name: series[name] for name in series if name in ranked}


def _is_metric(name: str) -> bool:
    from premortem.terminal.printed_lines import METRIC

    return METRIC.fullmatch(name) is not None


def _by_name(numbers: Iterator[Number], *, in_minutes: bool = False) -> dict[str, Curve]:
    columns: dict[str, tuple[list[float], list[float | None]]] = {}
    start: float | None = None
    for each in numbers:
        start = each.time if start is None else start
        x, y = columns.setdefault(each.name, ([], []))
        x.append((each.time - start) / 60 if in_minutes else each.step)
        y.append(each.value)
    return {name: curves.of_values(x, y) for name, (x, y) in columns.items()}


def _marks(run: Run) -> Iterator[Mark]:
    kinds: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "EpochEnded": lambda e: "end of an epoch" if e["complete"] else "an epoch was left early",
        "EvaluationEnded": lambda e: f"evaluation, {e['samples']:,} samples",
        "CheckpointSaved": lambda e: f"saved {Path(str(e['path'])).name}",
        "Resumed": lambda e: f"went on from {Path(str(e['path'])).name}",
        "StepRefused": lambda e: "step refused",
        "BatchSplit": lambda e: f"batch run in {e['parts']} parts",
        "OutOfMemory": lambda e: "out of memory",
    }
    for kind, words_of in kinds.items():
        for event in run.events(kind)[:EVENTS]:
            yield Mark(int(event["step"]), words_of(event))


def _times(seen: Mapping[str, int]) -> list[Share]:
    total = sum(seen.values())
    shares = [Share(_TIMES.get(what, what), number / total, number) for what, number in seen.items() if total]
    return sorted(shares, key=lambda share: -share.share)


def _rate(run: Run, steps: int) -> float | None:
    """Steps in a second, of the time between the first and the last."""
    span = run.span()
    return steps / (span[1] - span[0]) if span is not None and span[1] > span[0] and steps > 1 else None


def all_curves(story: Story) -> Sequence[tuple[str, Curve]]:
    """Each with its name, in the order in which they are shown."""
    lines = [
        (f"{plot} ({name})" if name else plot, curve)
        for plot, each in story.drawn.items()
        for name, curve in each.items()
    ]
    return [*lines, *story.metrics.items()]

"""What follows from the trials. Pure.

A change is a cause when it makes the script learn by more than chance, again under another seed, and when what it removes
is a mistake: because premortem has reported it, because it is one wherever it is seen, or because the effect is too large
for a setting that could merely be better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from premortem.changes.base import Learning
from premortem.findings import Certainty
from premortem.why.cards import LabelsSayNothing
from premortem.why.yardsticks import BEYOND, LEARNS, NO_GAIN, Gain

HELPS, HURTS, NOTHING, FAILED, SKIPPED = "helps", "hurts", "nothing", "failed", "skipped"
CAUSE, HEALTHY, UNKNOWN, CANNOT_RUN = "cause", "healthy", "unknown", "cannot-run"
_CLEARLY = 0.3  # of the scale: one batch that is memorised
_WORTH = 0.15  # of the scale: seeds may lie as far apart, and each be better with the change. It is asked under all of them
_HARM = 0.05
# What makes a mistake of something that could be a choice: with it changed the run learns so many times as much.
_TIMES_A_MISTAKE, _TIMES_A_SETTING = 1.5, 3.0
_PART_A_MISTAKE, _PART_A_SETTING = 0.1, 0.15
_HALF = 0.5  # of all that there is to learn
SAME_LEVER = 0.5  # of the best gain: others that gain as much pull the same lever


@dataclass
class Row:
    """One change, or one proposal, and what became of it."""

    change: str
    title: str
    question: str
    family: str
    verdict: str = SKIPPED
    gain: Gain = NO_GAIN
    again: list[float] = field(default_factory=list)  # gains under other seeds
    seconds: float = 0.0
    why: str = ""
    supported: bool = False
    learning: Learning | None = None
    still: set[str] | None = (
        None  # names of what premortem reports with the change; None where it did not watch
    )
    curve: list[float] = field(default_factory=list)  # of the loss
    further: bool = False  # the same ten times as far helps too
    few: bool = False  # it makes up for few steps, and the script has made few

    @property
    def repeated(self) -> bool:
        return bool(self.again) and min(self.again) > least_of(self)

    @property
    def beyond_chance(self) -> bool:
        """The seeds lie closer together, or each of them is better with the change."""
        return self.gain.sigmas > BEYOND or (len(self.again) > 1 and min(self.again) >= _PART_A_MISTAKE)


def least_of(row: Row) -> float:
    return row.learning.least if row.learning is not None else _HARM


def judge(row: Row, gains: Sequence[Gain]) -> None:
    """Fills in whether it helps."""
    learning = row.learning or Learning(title=row.title, family="config")
    best, worst = (gains[0], gains[-1]) if gains else (NO_GAIN, NO_GAIN)
    harm = worst.sigmas < -BEYOND and worst.size < -_HARM
    sure = best.sigmas > BEYOND or best.size > _WORTH or learning.certain or row.supported
    if best.size > learning.least and sure and not (harm and -worst.size > best.size):
        row.verdict, row.gain = HELPS, best
    elif harm:
        row.verdict, row.gain = HURTS, worst
    else:
        row.verdict, row.gain = NOTHING, best


def is_cause(row: Row, *, learns: bool) -> bool:
    learning = row.learning
    if row.verdict != HELPS or learning is None or not learning.family or not row.repeated:
        return False
    if learning.certain or (row.supported and learning.mistake):
        return True
    if row.few:  # more steps would do as well
        return False
    least = min(row.gain.size, *row.again)
    if (
        not learns and row.gain.learned <= LEARNS
    ):  # what stands still does better than what gets worse, and learns as little
        return False
    if not learns:
        far = row.further or row.gain.ratio >= _TIMES_A_SETTING
        return least >= _PART_A_SETTING and (learning.mistake or far)
    if not row.beyond_chance or (learning.evaluated and not row.gain.evaluated):
        return False
    if not learning.mistake:
        return row.further and least >= _PART_A_SETTING
    large = row.gain.ratio >= _TIMES_A_MISTAKE and row.gain.size >= _PART_A_MISTAKE
    much = least >= _HALF or (least >= _PART_A_SETTING and row.gain.rest >= _TIMES_A_SETTING)
    return (large or much) and row.gain.size >= learning.least


def ranked(rows: Sequence[Row], *, learns: bool) -> list[Row]:
    """The causes, the most likely one first. Of those that gain about as much, the most specific mistake: a rate ten times as
    high masks many causes."""
    found = [row for row in rows if is_cause(row, learns=learns)]
    best = max((_mean(row) for row in found), default=0.0)

    def rank(row: Row) -> tuple[Any, ...]:
        learning = row.learning or Learning(title="")
        sure = row.supported or learning.certain
        return (_mean(row) < SAME_LEVER * best, not learning.mistake, not sure, learning.order, -_mean(row))

    kept: list[Row] = []
    for row in sorted(found, key=rank):
        if not kept or (
            row.learning is not None and row.learning.mistake
        ):  # a setting does what the first one does
            kept.append(row)
    return kept


def _same_setting(row: Row, other: Row) -> bool:
    """Changed by another factor."""
    if row.learning is None or other.learning is None:
        return False
    return row.learning.further == other.change or other.learning.further == row.change


def _mean(row: Row) -> float:
    gains = [row.gain.size, *row.again]
    return sum(gains) / len(gains)


def notes(rows: Sequence[Row], causes: Sequence[Row]) -> list[Row]:
    """What helped, and is no mistake: a better setting."""
    return [
        row
        for row in rows
        if row.verdict == HELPS
        and row not in causes
        and row.family
        and row.learning is not None
        and row.repeated
        and not any(_same_setting(row, other) for other in causes)
    ]


@dataclass
class Verdict:
    verdict: str
    sentence: str
    causes: list[Row] = field(default_factory=list)
    findings: list[Mapping[str, Any]] = field(default_factory=list)  # of premortem's, which no trial refutes
    notes: list[Row] = field(default_factory=list)


def conclude(
    rows: Sequence[Row],
    findings: Sequence[Mapping[str, Any]],
    *,
    learns: bool,
    diverges: bool,
    judged: bool,
    seeds: int,
    start: float = 0.0,
) -> Verdict:
    """`judged`: there is a yardstick. `start`: seconds that each run needs before its first step, where they are many. `findings`: errors and warnings of the watched run as it is."""
    causes = ranked(rows, learns=learns and not diverges)
    kept = [each for each in findings if not refuted(each, rows)]
    if causes or kept:
        return Verdict(CAUSE, "", causes, kept, notes(rows, causes))
    left = [row.title for row in rows if untried(row)]
    better = notes(rows, [])
    if left:
        slow = (
            f". A run needs {start:.0f} s before its first step: less to load there, or more --minutes"
            if start
            else ""
        )
        return Verdict(UNKNOWN, f"there was no time for: {', '.join(left)}{slow}", notes=better)
    failed = [row.title for row in rows if row.verdict == FAILED and row.family]
    if failed:
        return Verdict(UNKNOWN, f"the script fails when this is changed: {', '.join(failed)}", notes=better)
    short = [row.title for row in better if row.few]
    if short and not learns and not diverges:
        return Verdict(
            UNKNOWN,
            f"it does not learn in these steps, and they are too few to say why: {', '.join(short)} would help, "
            "and so may more steps",
            notes=better,
        )
    if diverges or not learns:
        state = "its loss grows or is not finite" if diverges else "it does not learn"
        return Verdict(
            UNKNOWN,
            f"{state}, and nothing that I changed made it learn. {_ruled_out(rows)}".strip(),
            findings=[] if diverges else suspected(rows),
            notes=better,
        )
    open_mistakes = [row for row in rows if row.verdict != SKIPPED and row.family]
    if not judged and open_mistakes:
        names = ", ".join(row.title for row in open_mistakes)
        return Verdict(UNKNOWN, f"nothing here says how well it learns, so I cannot judge: {names}")
    if not judged:
        return Verdict(
            UNKNOWN,
            "I saw no mistake, but nothing here says how well it learns, so no change was compared. Let the script print a metric "
            "of an evaluation after each epoch",
        )
    if _by_heart(rows):
        return Verdict(
            UNKNOWN,
            "it learns its training samples, and no evaluation shows anything of it: with the labels of other samples the "
            "evaluation is as good. Either the labels say nothing about the inputs (shuffled, joined wrongly), or there are too "
            "few samples, or the evaluation measures something else",
            notes=better,
        )
    if better:
        what = ", ".join(
            f"{row.title} ({row.gain.yardstick} {row.gain.as_is:.4g} → {row.gain.changed:.4g})"
            for row in better
        )
        return Verdict(HEALTHY, f"no mistake found. A better setting in these steps: {what}", notes=better)
    return Verdict(
        HEALTHY,
        f"nothing I changed made it learn better by more than its noise ({seeds} seeds)",
        notes=better,
    )


NO_TIME = "no time left"
NOT_AGAIN = "not under another seed"


def untried(row: Row) -> bool:
    """It applies, and there was no time for it."""
    return row.why == NO_TIME or (row.verdict == SKIPPED and not row.why)


def refuted(finding: Mapping[str, Any], rows: Sequence[Row]) -> bool:
    """A warning whose remedy was tried, and made no difference. An error stands."""
    if finding["severity"] != "warning":
        return False
    tried = [row for row in rows if row.learning is not None and row.learning.finding == finding["name"]]
    return any(row.verdict == NOTHING for row in tried)


def suspected(rows: Sequence[Row]) -> list[Mapping[str, Any]]:
    """One batch is memorised, all the data is not learned, and labels of other samples do as well."""
    tried = {row.change: row for row in rows}
    batch, labels = tried.get("same-batch"), tried.get("labels-shuffled")
    memorised = batch is not None and batch.verdict == HELPS and batch.gain.size >= _CLEARLY
    if not memorised or labels is None or labels.verdict != NOTHING:
        return []
    noise = tried.get("inputs-noise")
    ignored = noise is not None and noise.verdict == NOTHING
    card = LabelsSayNothing.card
    said = "one batch is memorised, but over all the data it learns nothing, and with the labels of other samples it does as well"
    more = ". Noise in the place of its inputs does as well too: the model may ignore them" if ignored else ""
    where = {"file": None, "line": None, "module": None, "parameter": None}
    return [
        {
            "code": card.code,
            "name": card.name,
            "family": card.family,
            "severity": card.severity.value,
            "certainty": Certainty.SUSPECTED.value,
            "where": where,
            "message": said + more,
        }
    ]


def _by_heart(rows: Sequence[Row]) -> bool:
    """Of a script that learns: labels of other samples are tried there only where no evaluation gets better."""
    labels = next((row for row in rows if row.change == "labels-shuffled"), None)
    return labels is not None and labels.verdict in {HELPS, NOTHING} and labels.gain.evaluated


def _ruled_out(rows: Sequence[Row]) -> str:
    told = {row.question: row for row in rows if row.verdict != SKIPPED}
    batch, neighbours = told.get("one batch"), told.get("neighbours")
    said = []
    if batch is not None and batch.verdict == HELPS:
        said.append("One batch can be memorised, so model, loss and update work: look at the data.")
    elif batch is not None:
        said.append(
            "Not even one batch can be memorised, so it is not the data: look at the model, the loss and the update."
        )
    if neighbours is not None and neighbours.why:
        said.append(
            f"With the samples of a batch in another order {neighbours.why}: if the first dimension is the batch, the model "
            "mixes samples (a view or a softmax over the wrong dimension)."
        )
    return " ".join(said)

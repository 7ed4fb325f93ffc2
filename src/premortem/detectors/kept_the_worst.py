import math
from dataclasses import dataclass, field

from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector, Findings
from premortem.detectors.shared.printed import MOST_KINDS, columns
from premortem.detectors.shared.records import MISSED, ROUNDS, improved
from premortem.events import CheckpointSaved, EvaluationEnded, Event, LogLine, RunEnded, Site
from premortem.findings import Finding, Severity
from premortem.metric_words import EVALUATED, HIGHER, LOWER, METRICS, RECORDS, TRAINED, words


@dataclass
class Round:
    """One evaluation: what was printed of it, and which files were written."""

    metrics: dict[tuple[str, int], float] = field(default_factory=dict)
    saved: dict[str, Site | None] = field(default_factory=dict)


class KeptTheWorst(Detector):
    """The checkpoint that is kept as the best is not the best: it is written when the metric gets worse, always, or never again.

    ## Why it matters
    The training may be perfect; what is used in the end is the file. It holds the worst model of the run, or its first.

    ## Usual causes
    `if val_loss > best` where `<` is meant; `best = 0` for a loss, or `best = inf` for an accuracy; a record that is compared
    with, and never written down.

    ## What to do
    Save when a loss is lower than the lowest, or a score higher than the highest, so far; begin at infinity, of the right sign.

    ## When it stays silent
    Unless the file's name says that it is the best, and no printed metric was ever better when it was written than before; or
    it was written after every evaluation, and in several of them all printed metrics were worse than before. A file
    that is written with weights which no model has any more is left alone.
    """

    card = Card("PM349", "kept-the-worst", "checkpoint", Severity.ERROR, subject="path")
    listens = (LogLine, CheckpointSaved, EvaluationEnded, RunEnded)

    def __init__(self) -> None:
        self._now = Round()
        self._rounds: list[Round] = []
        self._names: dict[
            tuple[str, int], tuple[str, int]
        ] = {}  # metric -> what it is called, and its direction
        # Not every evaluation of a long run is heard, but all that is printed and written: what comes once in each of the first
        # rounds begins the others.
        self._often: set[tuple[str, int]] = set()  # metrics that come several times in a round
        self._saved_first = False  # a file is written before its metrics are printed

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LogLine):
            yield from self._printed(event)
        elif isinstance(event, CheckpointSaved):
            if "best" in words(event.path.rpartition("/")[2]) and event.current is not False:
                if self._saved_first and self._now.metrics:
                    yield from self._next_round(event)
                self._now.saved[event.path] = event.at
        elif isinstance(event, EvaluationEnded):
            if self._now.metrics or self._now.saved:
                yield from self._next_round(event)
        elif isinstance(event, RunEnded):
            # What is printed of a last exam, with what was kept, is no round of the training.
            last = self._rounds[-1].metrics if self._rounds else self._now.metrics
            if self._now.metrics.keys() & last.keys():
                self._rounds.append(self._now)
            yield from self._judge(event, over=True)

    def _next_round(self, event: Event) -> Findings:
        self._rounds.append(self._now)
        self._now = Round()
        yield from self._judge(event, over=False)

    def _printed(self, line: LogLine) -> Findings:
        for place, ((label, _, value), names) in enumerate(zip(line.values, columns(line), strict=True)):
            way = bool(names & HIGHER) - bool(names & LOWER)
            key = (line.template, place)
            if not way or names & (RECORDS | TRAINED) or not math.isfinite(value):
                continue
            if key not in self._names and len(self._names) >= MOST_KINDS:
                continue
            self._names[key] = (label, way)
            if key in self._now.metrics and len(self._rounds) < TWICE:
                self._often.add(key)
            elif key in self._now.metrics and key not in self._often:
                yield from self._next_round(line)
            if len(self._rounds) < TWICE and self._now.saved and not self._now.metrics:
                self._saved_first = True
            self._now.metrics[key] = value

    def _judge(self, event: Event, *, over: bool) -> Findings:
        for path in dict.fromkeys(path for each in self._rounds for path in each.saved):
            kept = [path in each.saved for each in self._rounds]
            if len(kept) < ROUNDS or self.said(path):
                continue
            if all(kept):
                if over:
                    yield from self._each(event, path)
                continue
            # Saved again, and only at the worst: that is wrong whatever comes. One that was not saved again may be yet.
            if not over and sum(kept[1:]) < TWICE:
                continue
            courses = {key: course for key in self._names if (course := self._course(key))}
            if any(
                better and saved
                for each in courses.values()
                for better, saved in zip(each, kept, strict=True)
            ):
                continue
            for key, course in courses.items():
                found = self._said(event, path, key, course, kept)
                if found is not None:
                    self.once(path)
                    yield found
                    break

    def _each(self, event: Event, path: str) -> Findings:
        """It was written after every evaluation: what it holds is the last model, not the best one."""
        known = {key: course for key in self._names if (course := self._course(key))}
        # A best one is chosen by an evaluation; numbers that do not say of which data they are count where no other does.
        judged = {key for key in known if words(self._names[key][0]) & EVALUATED}
        # Beside a `val loss`, a plain `loss` is that of the training; a plain `f1` may be that of the evaluation.
        named = {word for key in judged for word in words(self._names[key][0]) & METRICS}
        courses = [key for key in known if key in judged or not words(self._names[key][0]) & named]
        # Of equal ones the last may be kept: what is solved is as good as can be from then on.
        worse = [i for i in range(1, len(self._rounds)) if all(self._is_worse(key, i) for key in courses)]
        if not courses or len(worse) < MISSED:
            return
        key = next((key for key in courses if key in judged), courses[0])
        label, way = self._names[key]
        values = [way * each.metrics[key] for each in self._rounds]
        name = path.rpartition("/")[2]
        self.once(path)
        yield self.finding(
            event,
            f"`{name}` was written after each of {len(values)} evaluations, {len(worse)} times over a better one: `{label}` was "
            f"{way * max(values):.4g} at best and is {way * values[-1]:.4g} in the file",
            cause="The record that a new model is compared with is not updated when one is kept, so that the comparison is always "
            "true: the file holds the last model.",
            remedy=f"Write the record down where the file is written: `best = {label.replace(' ', '_')}`.",
            at=self._rounds[-1].saved[path],
            path=path,
            kept=way * values[-1],
            best=way * max(values),
        )

    def _is_worse(self, key: tuple[str, int], number: int) -> bool:
        """Whether this metric is worse in a round than the best before it."""
        way = self._names[key][1]
        values = [way * each.metrics[key] for each in self._rounds[: number + 1]]
        return values[-1] < max(values[:-1])

    def _course(self, key: tuple[str, int]) -> list[bool]:
        """Of each evaluation but the first: whether this metric was better than ever before."""
        if any(key not in each.metrics for each in self._rounds):
            return []
        way = self._names[key][1]
        return improved(way * each.metrics[key] for each in self._rounds)

    def _said(
        self, event: Event, path: str, key: tuple[str, int], course: list[bool], kept: list[bool]
    ) -> Finding | None:
        label, way = self._names[key]
        values = [each.metrics[key] for each in self._rounds]
        worst = [way * value <= min(way * v for v in values[: i + 1]) for i, value in enumerate(values)]
        later = [i for i in range(1, len(kept)) if kept[i]]
        if sum(course) < MISSED or not all(worst[i] for i in later) or not (later or kept[0]):
            return None
        last = max(i for i, saved in enumerate(kept) if saved)
        best = max(values) if way > 0 else min(values)
        name = path.rpartition("/")[2]
        return self.finding(
            event,
            f"`{name}` was last written when `{label}` was {values[last]:.4g}; it was better than ever {sum(course)} times, "
            f"{'up' if way > 0 else 'down'} to {best:.4g}, and not kept then",
            cause="The comparison with the best so far goes the wrong way, or begins at the wrong end."
            if len(later) >= TWICE
            else "The comparison with the best so far is never true again: it goes the wrong way, or begins at the wrong end.",
            remedy=f"Save when `{label}` is {'higher' if way > 0 else 'lower'} than the best so far, and begin at "
            f"{'-inf' if way > 0 else 'inf'}.",
            at=self._rounds[last].saved[path],
            severity=Severity.ERROR if len(later) >= TWICE else Severity.WARNING,
            path=path,
            kept=values[last],
            best=best,
        )

"""Judges what lint suspects by the events of the run. It reports a finding when it has seen an effect, and not before."""

import ast
from collections.abc import Iterator
from contextlib import suppress

from premortem.cards import Card
from premortem.convictions.effect import Effect
from premortem.convictions.effects.dropped_result import DroppedResult
from premortem.convictions.pairs import raised
from premortem.convictions.table import CHARGES
from premortem.events import (
    Backward,
    BatchDrawn,
    Clip,
    EpochStarted,
    Event,
    Forward,
    LoaderBuilt,
    ModelSeen,
    OptimizerBuilt,
    OptimizerStep,
    ResultDropped,
    RunEnded,
    SchedulerStep,
    SourceRead,
    Suspicion,
)
from premortem.findings import Certainty, Finding, Severity, Where

# Events that are kept for the effects until the files are read, which takes a fraction of a second: the first steps count
# too, and a short run has no others.
MOST_KEPT = 4000


class Court:
    """Listens like a detector. Once the files are read and lint suspects nothing, it costs nothing."""

    # All that effects listen to, and the reading itself.
    listens: tuple[type[Event], ...] = (
        Backward, BatchDrawn, Clip, EpochStarted, Forward, LoaderBuilt, ModelSeen, OptimizerBuilt, OptimizerStep,
        ResultDropped, RunEnded, SchedulerStep, SourceRead,
    )  # fmt: skip

    def __init__(self, cards: dict[str, Card]) -> None:
        self._cards = cards  # of the run's own diagnoses, by name
        self.suspicions: tuple[Suspicion, ...] = ()
        self.over = False
        self._kept: list[Event] | None = []
        self._pending: list[tuple[Suspicion, Effect]] = []

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, SourceRead):
            self.suspicions = event.suspicions
            self._pending = [
                (one, make(one)) for one in event.suspicions for make in CHARGES[one.card.code].effects
            ]
            kept, self._kept = self._kept or [], None
            for past in kept:
                yield from self._judge(past)
            self.over = not self._pending
        elif self._kept is not None:
            if len(self._kept) < MOST_KEPT:
                self._kept.append(event)
        else:
            yield from self._judge(event)

    @staticmethod
    def dropped(read: SourceRead) -> Iterator[tuple[str, int, str]]:
        """Lines where a result is thrown away, with the function that is called there."""
        for one in read.suspicions:
            if DroppedResult in CHARGES[one.card.code].effects:
                with suppress(SyntaxError):
                    call = ast.parse(one.text, mode="eval").body
                    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                        yield one.file, one.line, call.func.attr

    def _judge(self, event: Event) -> Iterator[Finding]:
        for suspicion, effect in list(self._pending):
            if isinstance(event, effect.listens) and (what := effect.seen(event)):
                self._pending = [each for each in self._pending if each[0] is not suspicion]
                yield self._finding(event, suspicion, what)
        self.over = self.over or (self._kept is None and not self._pending)

    def _finding(self, event: Event, suspicion: Suspicion, what: str) -> Finding:
        charge = CHARGES[suspicion.card.code]
        card = (
            self._cards.get(charge.reported_as[0], suspicion.card) if charge.reported_as else suspicion.card
        )
        severity = suspicion.card.severity if charge.harmless else Severity.ERROR
        return Finding(
            code=card.code,
            name=card.name,
            family=card.family,
            severity=raised(severity, suspicion),
            certainty=Certainty.PROVED,
            step=event.step,
            where=Where(suspicion.file, suspicion.line),
            message=f"{suspicion.message}; {what}",
            cause=f"The code says it (lint's {suspicion.card.code} {suspicion.card.name}), and the run did it.",
            remedy=suspicion.remedy,
            evidence={"read": suspicion.card.code},
        ).with_patch(suspicion.patch)

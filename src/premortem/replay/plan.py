"""The plan of a replay: reproduce, look through the microscope, then change one thing at a time.

It is written as a generator: it yields a trial and is sent what came of it. The script may end, and be launched
again, between any two; then the plan is made anew and given what is known, which brings it to the same point.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from premortem import changes
from premortem.replay.case import Case, Outcome, Trials, single
from premortem.replay.sample_search import Samples
from premortem.replay.term_search import LossTerms
from premortem.replay.trial import Result, Trial

MOST_STEPS = 2000  # as far as a script is taken through its loop to the place of the recorded step


@dataclass
class Report:
    """What a replay found out. Plain values."""

    reproduced: bool = False
    bitwise: bool = False  # the loss, to the last bit
    gradients: bool = False  # all gradients, to the last bit
    at_its_place: bool = False  # the loop was taken to the recorded step first
    failure: str = ""  # "loss", "gradient", "update" or "buffer"
    certificate: dict[str, Any] | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    problem: str = ""

    @property
    def smallest(self) -> Outcome | None:
        """Of the changes that remove the failure, the one that changes least."""
        gone = (outcome for outcome in self.outcomes if outcome.gone)
        return min(gone, key=lambda outcome: outcome.size, default=None)


class Plan:
    """`trial` is the next one, None when all is known; `heard` tells what came of it."""

    def __init__(
        self, manifest: dict[str, Any], options: dict[str, Any], earlier: Sequence[Result] = ()
    ) -> None:
        self.report = Report()
        self._running = self._run(manifest, options)
        self.trial: Trial | None = next(self._running)
        for result in earlier:
            self.heard(result)

    def heard(self, result: Result) -> None:
        self.report.results.append(result)
        for sentence in result.warnings:
            if sentence not in self.report.warnings:
                self.report.warnings.append(sentence)
        try:
            self.trial = self._running.send(result)
        except StopIteration:
            self.trial = None

    def _run(self, manifest: dict[str, Any], options: dict[str, Any]) -> Generator[Trial, Result, None]:
        report = self.report
        update = manifest["reason"] == "update"
        plain = yield Trial("as it was", apply=update)
        launch: dict[str, Any] = {}
        exact = agrees(plain, manifest) and plain.failed
        if not exact and 1 < manifest["steps"] <= MOST_STEPS:
            # Something in the step depends on where the loop is: an index, a schedule, a weight that grows.
            there = {"position": manifest["steps"]}
            second = yield Trial("as it was, at its place in the loop", apply=update, launch=there)
            if (second.failed and not plain.failed) or (
                agrees(second, manifest) and second.failed == plain.failed
            ):
                plain, launch, report.at_its_place = second, there, True
        report.reproduced = plain.decided and plain.failed
        report.bitwise = agrees(plain, manifest)
        report.gradients = plain.gradients == manifest.get("gradients")
        report.failure = what_failed(plain)
        if not report.reproduced:
            report.problem = plain.error
            return
        case = Case(manifest, options, plain, launch)
        # The lines of compiled code are not the user's: it is looked at eagerly, if it fails so too.
        eager = {"eager": True} if manifest.get("compiled") else {}
        seen = yield case.again("under the microscope", microscope=True, launch=eager)
        if eager and seen.certificate is None:
            seen = yield case.again("under the microscope", microscope=True)
        report.certificate = case.certificate = seen.certificate
        if options.get("quick") and seen.certificate is not None and not eager:
            leaving_out = changes.of("one_step")["some-samples"]
            if not leaving_out.absent(case.run):
                outcome = yield from Samples(leaving_out, case).without_suspects(case)
                report.outcomes += [outcome] if outcome is not None else []
        if unborn(seen.certificate) and manifest["steps"] <= MOST_STEPS:
            # It was there when the step was looked at: in prepared data, a table, a weight. Who made that?
            whole = {**eager, "position": manifest["steps"], "whole": True}
            told = yield case.again("the whole script under the microscope", microscope=True, launch=whole)
            if told.failed and clearer(told.certificate, seen.certificate):
                known = seen.certificate.get("source") if seen.certificate is not None else None
                if told.certificate is not None and known and not told.certificate.get("source"):
                    told.certificate["source"] = known  # of the batch; what it was made of has no numbers
                report.certificate = case.certificate = told.certificate
        if report.certificate is not None and report.certificate["stage"] == "weights":
            return  # the weights were broken before this step: it has no cause of its own
        for cls in () if options.get("quick") else changes.of("one_step").values():
            if not cls.absent(case.run):
                outcome = yield from _tried(cls, case)
                if outcome is not None:
                    report.outcomes.append(outcome)


def _tried(cls: type[changes.Change], case: Case) -> Trials:
    if cls.name == "some-samples":
        return Samples(cls, case).run(case)
    return LossTerms(cls, case).run(case) if cls.name == "without-term" else single(cls, case)


def unborn(certificate: dict[str, Any] | None) -> bool:
    """The operation that made it was not seen."""
    return certificate is None or certificate["stage"] in ("data", "weights")


def clearer(whole: dict[str, Any] | None, step: dict[str, Any] | None) -> bool:
    """Whether the look at the whole script tells more: who made it, or else where the data was read, not where it did harm."""
    if whole is None or not unborn(whole):
        return whole is not None
    return whole["stage"] == "data" and (step is None or step["stage"] in ("data", "weights"))


def what_failed(result: Result) -> str:
    if not result.loss_finite:
        return "loss"
    return "gradient" if result.bad_gradients else "buffer" if result.bad_buffer else "update"


def agrees(result: Result, manifest: dict[str, Any]) -> bool:
    """The same losses, bit for bit; the same gradients where no loss was sent backward; the same broken buffer."""
    then = manifest["losses"]
    buffer = manifest.get("buffer")
    if not result.decided or (buffer and buffer["bits"] != result.buffer):
        return False
    for rank, part in enumerate(result.parts or [result]):
        own = _bits(loss for loss in then if loss.get("rank", 0) == rank)
        if own and own != _bits(part.losses[-len(own) :]):
            return False
    return bool(then) or result.gradients == manifest.get("gradients")


def _bits(losses: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(loss["dtype"], loss["bits"]) for loss in losses]

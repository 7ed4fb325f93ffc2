"""Which trials are made, in rounds: each spends its time on what the one before has left open.

proposals   first: someone waits for them
a third     only where there is not the time for all: every change for a third of the steps, and the better half goes on
whole       what the facts make likely first, until a mistake explains what was seen
again       what helped, under other seeds
sets        of two changes, where no single one helps and the script does not learn
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from premortem.why import questions, sets, verdict, yardsticks
from premortem.why.director import FEW, Director
from premortem.why.verdict import FAILED, HELPS, NO_TIME, NOT_AGAIN, NOTHING, SKIPPED, Row

_TRIALS = 0.8  # of the time, after which no new change is tried: what helped has to be repeated
_EXPLAINED = 0.5  # a mistake that gains so much leaves no question open
_SHORT = 3  # a first round has this part of the steps
_FEW_CHANGES = 4  # are not worth a round
_CHANCE = "helps too, so it is chance"
_AGAIN = 2  # trials at least that repeat what helped, also where the time is over
_MOST_SETS = 24  # while there is time
FASTER = "rate-times-ten"


class Rounds:
    def __init__(self, director: Director) -> None:
        self.director, self.done, self.options = director, director.done, director.options

    def run(self) -> None:
        self._proposals()
        waiting = self._questions()
        self.options.shown.say("")
        waiting = self._halved(waiting)
        self.options.shown.count(len(waiting), "changes")
        self._whole(waiting)
        self._further()
        self._again([row for row in self.done.rows if row.verdict == HELPS and row.learning and row.family])
        self._repeated_further()
        self._not_only_few()
        self._sets()

    def _proposals(self) -> None:
        done, options = self.done, self.options
        proposed = [
            Row(each.name, each.name, "proposals", "", why=each.problem) for each in options.proposals
        ]
        done.rows += proposed
        for row, proposal in zip(proposed, options.proposals, strict=True):
            if not proposal.problem:
                self.director.propose(row, proposal)
            options.tell(row, done)

    def _questions(self) -> list[Row]:
        loud = [*self.done.findings, *self.options.reported]
        reported = {"names": {each["name"] for each in loud}, "families": {each["family"] for each in loud}}
        asked = questions.asked(self.done.run, reported)
        rows = [
            Row(
                each.name,
                each.learning.title,
                each.learning.question,
                each.learning.family,
                why=each.skipped,
                supported=each.supported,
                learning=each.learning,
            )
            for each in asked
        ]
        self.done.rows += rows
        return [row for row in rows if not row.why]

    # -- a third --------------------------------------------------------------------------

    @property
    def _left(self) -> float:
        return _TRIALS * self.director.total - self.director.spent

    @property
    def _seconds(self) -> float:
        """That a trial takes."""
        return statistics.median([each.seconds for each in self.done.seeds[1:] or self.done.seeds])

    def _halved(self, waiting: list[Row]) -> list[Row]:
        """All of them when there is time. Else the better half of those that a part of the steps can judge."""
        done = self.done
        seconds = self._seconds
        rounds = math.ceil(len(waiting) / self.director.jobs)
        short = done.first.backwards // _SHORT
        open_ended = [row for row in waiting if row.family and not row.supported and not _certain(row)]
        stepping = done.first.step_seconds * done.first.backwards
        scarce = (
            rounds * seconds > self._left and stepping > seconds / 2
        )  # else a start costs as much as the steps
        if not scarce or short < 2 * FEW or len(open_ended) < _FEW_CHANGES or not done.sticks:
            return waiting
        self.options.shown.count(len(open_ended), "changes for a third of the steps")
        as_is = yardsticks.cut(done.first, short)
        known: list[tuple[float, Row]] = []
        for place in range(0, len(open_ended), self.director.jobs):
            if self._left < len(open_ended) / 2 * seconds / self.director.jobs:
                break  # the better half needs as much
            now = open_ended[place : place + self.director.jobs]
            results = self.director.together([self.director.order_of(row, 0, short) for row in now])
            for row, result in zip(now, results, strict=True):
                self.options.shown.advance()
                row.seconds += result.seconds
                if not result.failed and result.losses != as_is.losses:  # else it has not acted yet
                    known.append((self.director.best(row, as_is, result), row))
        known.sort(key=lambda each: -each[0])
        for size, row in known[math.ceil(len(known) / 2) :]:
            if size < verdict.least_of(row):
                row.verdict, row.why = NOTHING, "no better after a third of the steps: ended there"
                self.options.tell(row, done)
        return [row for row in waiting if not row.why]

    # -- whole ----------------------------------------------------------------------------

    def _whole(self, waiting: list[Row]) -> None:
        jobs = self.director.jobs
        while waiting:
            now, waiting = waiting[:jobs], waiting[jobs:]
            self._try([row for row in now if not self._needless(row)])

    def _needless(self, row: Row) -> bool:
        explained = next((each for each in self.done.rows if _explains(each)), None)
        if explained is not None and not (row.learning and row.learning.mistake and row.family):
            row.why = f"explained: {explained.title}"
        elif self._left < 0:
            row.why = NO_TIME
        elif not self.done.sticks:
            row.why = "nothing here says how well it learns"
        return bool(row.why)

    def _try(self, rows: Sequence[Row]) -> None:
        results = self.director.together([self.director.order_of(row, 0) for row in rows])
        for row, result in zip(rows, results, strict=True):
            self.director.judge(row, result)
            sets.settle(row, self.done.rows)
            self.options.shown.advance()
            self.options.tell(row, self.done)

    def _further(self) -> None:
        """A setting that helps in both directions says nothing. One that helps may be a mistake where ten times as much helps
        too; one that makes up for few steps only where the script makes no more than these."""
        known = {row.change: row for row in self.done.rows}
        helped = [row for row in self.done.rows if row.verdict == HELPS and row.learning]
        for row in helped:
            other = known.get(row.learning.against) if row.learning else None
            if row.learning and other is not None and other in helped:
                for each in (row, known.get(row.learning.further, row)):
                    each.why = f"{other.title} {_CHANCE}"
        chance = [row for row in helped if row.why.endswith(_CHANCE)]
        for row in chance:
            row.verdict = NOTHING
            self.options.tell(row, self.done)
        far = [
            (row, known[row.learning.further])
            for row in helped
            if row.learning and row.learning.further in known and row.verdict == HELPS
        ]
        open_ = [other for row, other in far if other.verdict == SKIPPED and self._left > 0]
        for row, other in far:
            early = row.learning is not None and row.learning.slow and not self.done.to_the_end
            if other in open_:
                other.why = "the script goes on after these steps, and may still get there" if early else ""
        tried = [other for other in open_ if not other.why]
        if tried:
            self.options.shown.count(len(tried), "changes that go further")
            self._try(tried)
        for row, other in far:
            row.further = other.further = other.verdict == HELPS

    def _repeated_further(self) -> None:
        """What goes further counts for nothing where it has not helped again."""
        known = {row.change: row for row in self.done.rows}
        for row in self.done.rows:
            other = known.get(row.learning.further) if row.learning else None
            if other is not None and row.further and other.verdict != HELPS:
                row.further = other.further = False

    def _not_only_few(self) -> None:
        """A mistake that makes up for few steps is one all the same where a higher rate, which does that too, does not help nearly as
        much. A rate that is too low by ten alone may merely need more steps, and so may a script that such a rate and another
        optimizer help."""
        faster = next((row for row in self.done.rows if row.change == FASTER), None)
        if faster is None or faster.verdict in {SKIPPED, FAILED}:
            return
        rates = [row for row in self.done.rows if _is_rate(row) and row.verdict == HELPS]
        gained = max((row.gain.size for row in rates), default=0.0)
        by_far = any(row.further for row in rates)
        for row in self.done.rows:
            as_much = gained >= verdict.SAME_LEVER * row.gain.size
            if row.learning and row.few and row.learning.mistake:
                row.few = as_much
            elif row.learning and row.learning.slow and rates and not by_far:
                row.few = row.few or not _is_rate(row) or bool(row.learning.further)

    def _again(self, helped: Sequence[Row]) -> None:
        """What helped has to help again: under one more seed where it is far beyond the noise, else under all of them."""
        self.options.shown.count(0)
        likely = sorted(helped, key=lambda row: (not row.supported, not _certain(row), -row.gain.size))
        wanted = [
            (row, number)
            for row in likely
            for number in range(1, 2 if row.gain.sigmas > yardsticks.BEYOND else len(self.done.seeds))
            if number < len(self.done.seeds)
        ]
        room = (self.director.total - self.director.spent) * self.director.jobs / max(self._seconds, 1e-3)
        wanted, left = wanted[: max(_AGAIN, int(room))], wanted[max(_AGAIN, int(room)) :]
        for row in {id(row): row for row, _ in left}.values():
            if not any(row is other for other, _ in wanted):
                row.why = NO_TIME
        orders = [self.director.order_of(row, number) for row, number in wanted]
        if any(
            each["severity"] == "error" for each in self.done.findings
        ):  # does it go away with the change?
            orders = [
                replace(order, watched=True, folder=f"again-{place}") for place, order in enumerate(orders)
            ]
        for (row, number), result in zip(wanted, self.director.together(orders), strict=True):
            row.again.append(self.director.gain_again(row, self.done.seeds[number], result))
            found = {each["name"] for each in result.findings} if result.ended else None
            row.still = found if row.still is None or found is None else row.still | found
        for row in likely:
            if row.again and not row.repeated:
                row.verdict, row.why = NOTHING, NOT_AGAIN
                self.options.tell(row, self.done)

    # -- sets -----------------------------------------------------------------------------

    def _sets(self) -> None:
        """The smallest set that makes it learn, where it does not, and no single change did."""
        done = self.done
        learns = done.learns and not done.diverges
        measured = any(each["severity"] == "error" for each in done.findings)
        if learns or measured or not done.sticks or verdict.ranked(done.rows, learns=False):
            return
        asked = sets.pairs(done.rows)[:_MOST_SETS]
        if asked:
            self.options.shown.count(len(asked), "pairs of changes")
        for place in range(0, len(asked), self.director.jobs):
            now = asked[place : place + self.director.jobs]
            if self._left < 0 or any(row.verdict == HELPS for row in asked):
                break
            done.rows += now
            self._try(now)
        self._again([row for row in asked if row.verdict == HELPS])


def _is_rate(row: Row) -> bool:
    return row.learning is not None and row.learning.family == "lr" and row.learning.slow


def _certain(row: Row) -> bool:
    return row.learning is not None and row.learning.certain


def _explains(row: Row) -> bool:
    mistake = row.learning is not None and row.learning.mistake and bool(row.family)
    return mistake and row.verdict == HELPS and row.gain.size > _EXPLAINED and not row.few

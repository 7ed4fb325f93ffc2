"""The largest batch, or side, that fits: few rehearsals, and no number that was not rehearsed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from premortem.fit.trials import NotRehearsed

_MOST_TRIALS = 12
_MOST_FAILED = 3  # each may have taken all the time there is
_MOST_BATCH = 1 << 20
_FINE = 128  # the answer is within one part of so many
_STRIDE = 16  # at most so many times the largest that is known to fit


class Search:
    """The need grows about evenly with the batch: each guess is where the line through the last two meets the room.

    `trial` rehearses with a value of the lever. What is compared is the batch that the model then really had.
    """

    def __init__(
        self,
        trial: Callable[[int], dict[str, Any]],
        fits: Callable[[dict[str, Any]], bool],
        *,
        room: float,
        value: int,
        base: dict[str, Any],
        noun: str = "batch",
        unit: int = 1,
    ) -> None:
        """`unit` is what one step of the value counts for a person."""
        self._noun, self._unit = noun, unit
        self._trial, self._fits, self._room = trial, fits, room
        self._value, self._batch = value, base["batch"]
        self._results = {value: base}
        self._low, self._high = 0, _MOST_BATCH + 1
        self._failed = self._capped = 0  # values of the lever
        self._failure = ""
        self.why = ""

    @property
    def value(self) -> int:
        """What the lever has to stand at for it."""
        return self._low

    def run(self) -> int | None:
        """The batch of the model; None when not even a small one was rehearsed, and then `why` says so."""
        self._look(self._value)
        self._look(2 * self._value if self._low else max(1, self._value // 2))
        failed = 0
        for _ in range(_MOST_TRIALS):
            if self._close() or self._capped or failed == _MOST_FAILED:
                break
            failed += not self._look(self._guess())
        return self._told()

    def _close(self) -> bool:
        return self._high - self._low <= max(1, self._low // _FINE)

    def _look(self, value: int) -> bool:
        """Whether it could be rehearsed. Moves the bounds."""
        if not self._low < value < self._high:
            return True
        try:
            result = self._results[value] = self._results.get(value) or self._trial(value)
        except NotRehearsed as error:
            self._high = self._failed = value
            self._failure = str(error)
            return False
        if result["batch"] * self._value < value * self._batch:
            # The script had no such batch to give: the same rehearsal would come again and again.
            self._capped = value
            if self._fits(result):
                self._low = value
            return True
        if self._fits(result):
            self._low = value
        else:
            self._high = value
        return True

    def _guess(self) -> int:
        low, high = self._low, self._high
        known = high <= _MOST_BATCH
        halfway = (low + high) // 2
        if high == self._failed or len(self._results) < 2:
            return max(halfway, low + 1)
        most = high - 1 if known else max(min(_MOST_BATCH, _STRIDE * low), low + 1)
        one, two = sorted(
            self._results, key=lambda value: abs(self._results[value]["allocated"] - self._room)
        )[:2]
        first, second = self._results[one]["allocated"], self._results[two]["allocated"]
        slope = (second - first) / (two - one)
        guess = int(one + (self._room - first) / slope) if slope > 0 else most
        if known and not low < guess < high:
            # The line is wrong about one of its bounds: fragments count too.
            return max(halfway, low + 1)
        return min(max(guess, low + 1), most)

    def _told(self) -> int | None:
        if not self._low:
            if self._high == self._failed:
                self.why = (
                    f"a {self._noun} of {self._failed * self._unit} could not be rehearsed ({self._failure})"
                )
                return None
            if not self._close():
                self.why = f"none that fits was found in {len(self._results)} rehearsals"
                return None
            return 0
        found = int(self._results[self._low]["batch"])
        if self._capped:
            more = "no more samples for a larger one" if self._noun == "batch" else "no larger ones"
            self.why = f"at least: the script has {more}"
        elif self._high == self._failed:
            self.why = f"at least: with {self._failed * self._unit} the rehearsal did not get through ({self._failure})"
        elif not self._close():
            tried = (
                f"the next that was tried, {self._high * self._unit}, does not"
                if self._high <= _MOST_BATCH
                else ""
            )
            self.why = f"at least; {tried or 'more was not tried'}"
        elif self._low >= _MOST_BATCH:
            self.why = "at least; more was not tried"
        return found

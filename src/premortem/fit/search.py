"""The largest batch, or side, that fits: few rehearsals, and no number that was not rehearsed."""

from collections.abc import Callable
from typing import Any

from premortem.fit.trials import NotRehearsed, OutOfTime

_MOST_TRIALS = 10
_MOST_FAILED = 3  # each may have taken all the time there is
_MOST_BATCH = 1 << 20
_FINE = 128  # the answer is within one part of so many
_STRIDE = 64  # at most so many times the largest that is known to fit


class Search:
    """What a step needs grows about evenly with the batch: each guess is where the line through the two nearest results
    meets the room. It ends when the next larger batch that is worth asking for lies above that line.

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
        most: int = 0,
    ) -> None:
        """`unit` is what one step of the value counts for a person. `most`: the data has no more samples."""
        self._noun, self._unit = noun, unit
        self._trial, self._fits, self._room = trial, fits, room
        self._value, self._batch = value, base["batch"]
        self._results = {value: base}
        self._most = max(most, value) if most else _MOST_BATCH
        self._whole = bool(most)  # more than the most is not even worth asking for
        self._low, self._high = 0, self._most + 1
        self._failed = self._capped = 0  # values of the lever
        self._failure = ""
        self._over = False  # the time is
        self.why = ""

    @property
    def value(self) -> int:
        """What the lever has to stand at for it."""
        return self._low

    def run(self) -> int | None:
        """The batch of the model; None when not even a small one was rehearsed, and then `why` says so."""
        try:
            self._look(self._value)
            self._look(min(2 * self._value, self._most) if self._low else max(1, self._value // 2))
            failed = 0
            for _ in range(_MOST_TRIALS):
                if self._close() or self._capped or failed == _MOST_FAILED:
                    break
                failed += not self._look(self._guess())
        except OutOfTime:
            self._over = True
        return self._answer()

    def _close(self) -> bool:
        step = max(1, self._low // _FINE)
        if self._high - self._low <= step:
            return True
        line = self._line()
        return bool(self._low) and line is not None and line[0] + line[1] * (self._low + step) > self._room

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

    def _line(self) -> tuple[float, float] | None:
        """What is needed without any batch, and for each: through the two results nearest to the room."""
        if len(self._results) < 2:
            return None
        near = sorted(self._results, key=lambda value: abs(self._needs(value) - self._room))
        one, two = near[:2]
        each = (self._needs(two) - self._needs(one)) / (two - one)
        return (self._needs(one) - each * one, each) if each > 0 else None

    def _needs(self, value: int) -> float:
        return float(self._results[value]["needed"])

    def _guess(self) -> int:
        low, high = self._low, self._high
        known = high <= self._most
        halfway = max((low + high) // 2, low + 1)
        line = self._line()
        if high == self._failed or (line is None and known):
            return halfway
        most = high - 1 if known else max(min(self._most, _STRIDE * low), low + 1)
        guess = int((self._room - line[0]) / line[1]) if line is not None else most
        if known and guess >= high:  # gaps between blocks count too, and they do not lie on a line
            guess = min(high - max(1, high // (2 * _FINE)), high - 1)
        elif known and guess <= low:
            guess = halfway
        return min(max(guess, low + 1), most)

    def _answer(self) -> int | None:
        if not self._low:
            return self._nothing()
        if self._capped:
            more = "no more samples for a larger one" if self._noun == "batch" else "no larger ones"
            self.why = f"at least: the script has {more}"
        elif self._over:
            self.why = "at least: there was no time to try more (see --seconds)"
        elif self._low == self._most:
            self.why = (
                "all samples of the data; memory is left"
                if self._whole
                else "at least: nothing larger was tried"
            )
        elif self._high == self._failed and not self._close():
            self.why = f"at least: with {self._failed * self._unit} the rehearsal failed ({self._failure})"
        elif not self._close():
            known = self._high <= self._most
            tried = f"; {self._high * self._unit} does not fit" if known else "; nothing larger was tried"
            self.why = f"at least{tried}"
        return int(self._results[self._low]["batch"])

    def _nothing(self) -> int | None:
        if self._high == self._failed:
            self.why = (
                f"a {self._noun} of {self._failed * self._unit} could not be rehearsed ({self._failure})"
            )
        elif self._over:
            self.why = f"no {self._noun} that fits was found in time (see --seconds)"
        elif not self._close():
            self.why = f"no {self._noun} that fits was found in {len(self._results)} rehearsals"
        else:
            return 0
        return None

"""What a loop repeats. Pure: tokens in, answers out.

A *round* is what happened between two optimizer steps, as a short tuple of counts. A plain loop repeats one round, a
GAN two, a critic that is trained five times for each step of the generator six. The shortest cycle that the last rounds
have kept is the loop's period; a round that never happened before is news, one in an unusual place is a slip.
"""

from collections import deque
from collections.abc import Hashable
from itertools import islice

LONGEST = 16  # rounds of a cycle; a longer one is taken as its usual rounds, with an odd one now and then
ALIKE = 4  # rounds, besides the cycle itself, that must have repeated
_MOST = 512  # different rounds that are remembered


class Rhythm:
    def __init__(self) -> None:
        self.period = 0  # 0: none was found
        self.numbers: dict[Hashable, int] = {}
        self.recent: deque[int] = deque(maxlen=2 * LONGEST + ALIKE)

    def heard(self, round_: Hashable) -> bool:
        """One more round. Whether it is news."""
        number = self.numbers.get(round_)
        news = number is None
        if number is None:
            if (
                len(self.numbers) >= _MOST
            ):  # a script in which everything is new all the time: then nothing is
                number, news = 0, False
            else:
                number = self.numbers[round_] = len(self.numbers) + 1
        self.recent.append(number)
        return news

    def slipped(self) -> bool:
        """Whether the last round is another one than a period before."""
        period, recent = self.period, self.recent
        return bool(period) and len(recent) > period and recent[-1] != recent[-1 - period]

    def find(self) -> int:
        """Look for the period anew."""
        latest = list(islice(reversed(self.recent), None))
        self.period = 0
        for period in range(1, LONGEST + 1):
            span = 2 * period + ALIKE
            if len(latest) >= span and latest[period:span] == latest[: span - period]:
                self.period = period
                break
        return self.period

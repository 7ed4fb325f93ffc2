"""Which turn of the loop is run how. A generator: yields a turn, is sent what came of it. Knows nothing of torch.

run-in       the script as it is, on its own batches; then the step is known, and one of its batches is kept
compare      as it is again, on the kept batch: what two equal steps differ by, and what chance makes of them
warm         each candidate: its first turns, where compilers work, and one turn for its numbers
time         all that work, in alternation: what the machine does besides meets all of them
together     those that gained, combined, against the best one alone
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from statistics import median

from premortem.fit.speed.numerics import Agreement, Plain, Seen, agreement

RUN_IN = 4
ROUNDS = 4
FEWEST = 3  # rounds, before which no change counts as faster
_BLOCK = 0.25  # seconds that one candidate's part of a round should last
_MOST_TURNS = 16
GAIN = 1.03  # below that, it is not worth a change of the code
Names = tuple[str, ...]


@dataclass(frozen=True)
class Turn:
    names: Names = ()  # of what is put on; none is the script as it is
    purpose: str = "time"  # run-in, compare, warm, settle, time
    chance: int = 0  # which random numbers
    last: bool = True  # of its block: only then is the device waited for
    real: bool = False  # on batches of all shapes that came, not on the kept one alone


@dataclass
class Measured:
    """What is known of one way to run the step."""

    names: Names
    rounds: dict[int, float] = field(default_factory=dict)  # number of the round -> seconds of a turn in it
    turns: int = 0  # that were timed
    warm: list[float] = field(default_factory=list)
    numbers: Agreement | None = None
    peak: int = 0
    error: str = ""
    in_force: str = ""

    @property
    def seconds(self) -> float | None:
        return median(self.rounds.values()) if self.rounds else None

    @property
    def warm_up(self) -> float:
        """What its first turns took beyond what a turn takes."""
        each = self.seconds
        return sum(max(0.0, time - each) for time in self.warm) if each is not None else 0.0

    @property
    def usable(self) -> bool:
        return bool(not self.error and self.rounds and self.numbers is not None and self.numbers.agrees)


@dataclass
class Notes:
    """All that was measured. Filled while the agenda runs, so that an early end loses nothing."""

    plain: Plain = field(default_factory=Plain)
    measured: dict[Names, Measured] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    exact: dict[str, bool] = field(default_factory=dict)
    compiles: dict[str, bool] = field(default_factory=dict)
    rivals: tuple[frozenset[str], ...] = ()
    steps: int | None = None  # of the whole run, where the user named them
    finished: bool = False

    def of(self, names: Names) -> Measured:
        return self.measured.setdefault(names, Measured(names))

    def ratios(self, names: Names) -> list[float]:
        """Of each round that both were part of: how many times as fast as the script's own step."""
        base, mine = self.of(()).rounds, self.of(names).rounds
        return [base[number] / mine[number] for number in mine if number in base]

    def speed_up(self, names: Names) -> float:
        ratios = self.ratios(names)
        return median(ratios) if ratios else 0.0

    def gains(self, names: Names) -> bool:
        """Enough to be worth it, and not in one lucky round."""
        ratios = sorted(self.ratios(names))
        return len(ratios) >= FEWEST and median(ratios) >= GAIN and ratios[len(ratios) // 4] > 1.0

    def gainers(self) -> list[str]:
        """Single candidates that are quicker and agree, best first, the better one of rivals."""
        good = [
            m.names[0]
            for m in self.measured.values()
            if len(m.names) == 1 and m.usable and self.gains(m.names)
        ]
        good.sort(key=lambda name: -self.speed_up((name,)))
        chosen: list[str] = []
        for name in good:
            if not any({name, other} <= pair for pair in self.rivals for other in chosen):
                chosen.append(name)
        return chosen

    def best(self) -> Measured:
        """The quickest that agrees; if the length of the run is known, the one with which it is over first."""
        plain = self.of(())
        usable = [m for m in self.measured.values() if m.names and m.usable and self.gains(m.names)]
        if self.steps is None:
            return max(usable, key=lambda m: self.speed_up(m.names), default=plain)
        return min([plain, *usable], key=self._whole_run)

    def _whole_run(self, measured: Measured) -> float:
        each = (self.of(()).seconds or 0.0) / (self.speed_up(measured.names) or 1.0)
        return (self.steps or 0) * each + measured.warm_up


def agenda(
    notes: Notes, candidates: Callable[[], list[str]], seconds: float, elapsed: Callable[[], float]
) -> Generator[Turn, Seen, None]:
    """`candidates` is asked when the step is known; `elapsed` is compared with `seconds`, from the first turn on."""
    begun = elapsed()
    for _ in range(RUN_IN):
        yield Turn(purpose="run-in", real=True)
    for _ in range(2):
        yield Turn(purpose="settle")
    for chance in (0, 0, 1, 2):
        seen = yield Turn(purpose="compare", chance=chance)
        (notes.plain.others if chance else notes.plain.same).append(seen)
    tried: list[Names] = [()]
    for name in candidates():
        if elapsed() > begun + 0.7 * seconds:
            notes.skipped[name] = "there was no time left for it (see --seconds)"
            continue
        if (yield from _warm(notes, (name,))):
            tried.append((name,))
    yield from _rounds(notes, tried, begun + seconds, elapsed)
    together = tuple(sorted(notes.gainers()))
    if len(together) > 1 and elapsed() < begun + 0.9 * seconds and (yield from _warm(notes, together)):
        best = notes.best().names
        yield from _rounds(notes, [(), *({best, together} - {()})], begun + seconds, elapsed, first=ROUNDS)
    notes.finished = True


def _warm(notes: Notes, names: Names) -> Generator[Turn, Seen, bool]:
    """Its first turns and its numbers; whether it works."""
    mine = notes.of(names)
    compiles = any(notes.compiles.get(name) for name in names)
    for index in range(4 if compiles else 2):
        # A compiler is shown batches of other shapes too: they are compiled anew.
        seen = yield Turn(names, "warm", real=compiles and index > 1)
        mine.error = mine.error or seen.error
        if mine.error:
            return False
        mine.warm.append(seen.seconds)
    seen = yield Turn(names, "compare")
    mine.error, mine.in_force, mine.peak = seen.error, seen.in_force, seen.peak
    if mine.error:
        return False
    exact = all(notes.exact.get(name, True) for name in names)
    mine.numbers = agreement(notes.plain, seen, exact=exact, own_chance=compiles)
    return True


def _rounds(
    notes: Notes, tried: list[Names], until: float, elapsed: Callable[[], float], first: int = 0
) -> Generator[Turn, Seen, None]:
    for number in range(first, first + ROUNDS):
        if number >= first + FEWEST and elapsed() > until:
            return
        for names in tried:
            mine = notes.of(names)
            if mine.error:
                continue
            settled = yield Turn(names, "settle")
            turns = min(_MOST_TURNS, max(1, int(_BLOCK / max(settled.seconds, 1e-6))))
            total = 0.0
            for left in reversed(range(turns)):
                seen = yield Turn(names, "time", last=not left)
                mine.error = mine.error or seen.error
                mine.peak = max(mine.peak, seen.peak)
                total += seen.seconds
            if not mine.error:
                mine.rounds[number] = total / turns
                mine.turns += turns

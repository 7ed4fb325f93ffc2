"""Whether labels follow their rows in each part of the data: a straight rule is learnt from the others and asked about the part.

Where the rule is right about all parts but a few, the labels of these few are numbered otherwise, moved by a row, or belong to other
rows; which of these is an experiment, too.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_FEWEST = 60  # rows of a part
_MOST_ROWS = 20_000
_ENOUGH = 200  # rows
_CHANCE = 4.0  # standard errors
_EVEN = 0.8  # of the rows, at most, are of one class
_MOST_CLASSES = 30
_GOOD = 0.3  # of the way from chance to certainty: what the rule is worth among the others
_BAD = 0.25  # of that, or less, is left in the part
_UNLIKELY = (
    3.0  # standard errors: of the parts of one table hardly any lies so far below the others by chance
)
_ODD = 1.5  # times as far as the oddest of the other parts
_CLEARLY = 0.6  # of it comes back once the labels are put right


class Unfollowed(NamedTuple):
    parts: tuple[int, ...]
    how: str  # "" where it is not known
    here: float  # how often the rule is right about these parts,
    rest: float  # ... about the others,
    put_right: float  # ... and about these parts, once they are put right
    chance: float


def unfollowed(rows: Sequence[Any], labels: Sequence[Any]) -> Unfollowed | None:
    """Of parts (n, columns) with labels (n) as whole numbers from 0 on."""
    import numpy as np

    used = [at for at, y in enumerate(labels) if len(y) >= _FEWEST]
    if len(used) < 3 or sum(len(labels[at]) for at in used) > _MOST_ROWS:
        return None
    classes = int(max(labels[at].max() for at in used)) + 1
    if not 2 <= classes <= _MOST_CLASSES:
        return None
    whole = np.concatenate([rows[at] for at in used])
    mean, spread = whole.mean(0), whole.std(0)
    alive = spread > 0
    made = {at: wide((rows[at][:, alive] - mean[alive]) / spread[alive], np) for at in used}
    chance = max(float((np.concatenate([labels[at] for at in used]) == k).mean()) for k in range(classes))
    if chance > _EVEN:
        return None  # one class is nearly all there is: a rule says little
    known = {at: Known.of(made[at], labels[at], classes, np) for at in used}

    def judged(learnt_from: Sequence[int]) -> dict[int, float]:
        whole = [known[at] for at in learnt_from]
        return {
            at: right(made[at], labels[at], rule([each for each in whole if each is not known[at]], np), np)
            for at in used
        }

    scores = judged(used)
    # Parts that are wrong spoil the rule of the others: it is learnt once more from those that are well understood.
    ranked = sorted(used, key=lambda at: -scores[at])
    good = ranked[: max(2, len(used) // 2)]
    for _ in range(3):
        learnt_from = good
        scores = judged(learnt_from)
        best = sorted(scores[at] for at in good)[len(good) // 2]
        good = [at for at in used if scores[at] - chance >= 0.6 * (best - chance)]
        if len(good) < 2:
            return None
        if set(good) == set(learnt_from):
            break
    worth = float(np.mean([scores[at] for at in good])) - chance
    bad = [at for at in used if scores[at] - chance <= _BAD * worth]
    # A part of nearly one class, of a file that is sorted: a rule for all is right about it always or never.
    if any(np.bincount(labels[at]).max() > _EVEN * len(labels[at]) for at in bad):
        return None
    if not bad or worth < _GOOD * (1 - chance) or len(bad) + len(good) < len(used) or len(bad) > len(good):
        return None
    usual = worth + chance
    if any(
        usual - scores[at] < _UNLIKELY * float(np.sqrt(usual * (1 - usual) / len(labels[at]))) for at in bad
    ):
        return None
    weights = rule([known[at] for at in good], np)
    found = named(bad, made, labels, weights, scores, worth + chance, chance, classes, np)
    if found.how:
        return found

    # Where no change puts them right, they belong to other rows: then nothing can be learnt from these parts alone, either. A part of
    # another kind has rules of its own.
    def learnt(parts: Sequence[int]) -> float:
        own = [crossed(made[at], labels[at], classes, np) for at in parts]
        guessed = [float(np.bincount(labels[at]).max() / len(labels[at])) for at in parts]
        return float(np.mean(own)) - float(np.mean(guessed))

    # ... and from as many rows of the others something can: of few rows and many classes nothing is learnt anywhere.
    blind = learnt(bad) <= _BAD * worth < learnt(good)
    if any(uneven(labels[at], [labels[each] for each in good], classes, np) for at in bad):
        return None
    return found if blind and len(bad) < len(good) else None


def uneven(part: Any, others: Sequence[Any], classes: int, np: Any) -> bool:
    """Whether a part has its rows in fewer or in more classes than others have, whatever these are called: then it is a part of another kind,
    as the first cars of a year are. Labels of other rows of the same kind are as many of each."""
    made = [np.sort(np.bincount(each, minlength=classes) / len(each))[::-1] for each in (part, *others)]
    far = [float(np.abs(each - np.mean(made[1:], axis=0)).sum()) for each in made]
    return far[0] > _ODD * max(far[1:])


def wide(x: Any, np: Any) -> Any:
    """With a constant; and with squares where there are few columns."""
    squares = [x**2] if x.shape[1] <= 24 else []
    return np.concatenate([x, *squares, np.ones((len(x), 1))], axis=1)


class Known(NamedTuple):
    """What a part adds to a straight rule. Of several parts it is the sum, so that each row is multiplied once."""

    rows: int
    squares: Any
    products: Any

    @classmethod
    def of(cls, x: Any, y: Any, classes: int, np: Any) -> "Known":
        return cls(len(x), x.T @ x, x.T @ np.eye(classes)[y])


def rule(parts: Sequence[Known], np: Any) -> Any:
    rows = sum(part.rows for part in parts)
    squares = sum(part.squares for part in parts)
    return np.linalg.solve(squares + 1e-2 * rows * np.eye(len(squares)), sum(part.products for part in parts))


def right(x: Any, y: Any, weights: Any, np: Any) -> float:
    return float(((x @ weights).argmax(1) == y).mean())


def named(
    bad: Sequence[int],
    made: Any,
    labels: Any,
    weights: Any,
    scores: Any,
    rest: float,
    chance: float,
    classes: int,
    np: Any,
) -> Unfollowed:
    """Which change puts them right."""
    here = float(np.mean([scores[at] for at in bad]))
    guessed = {at: (made[at] @ weights).argmax(1) for at in bad}
    tries: dict[str, float] = {}
    for step in (-1, 1):
        tries[f"moved by one row ({step:+d})"] = float(
            np.mean([(np.roll(labels[at], step) == guessed[at]).mean() for at in bad])
        )
    table = np.zeros((classes, classes))
    for at in bad:
        np.add.at(table, (labels[at], guessed[at]), 1)
    target = table.argmax(1)
    if len(set(target.tolist())) == classes and target.tolist() != list(range(classes)):
        shown = ", ".join(f"{a} for {b}" for a, b in enumerate(target.tolist()) if a != b)
        tries[f"numbered otherwise ({shown})"] = float(
            np.mean([(target[labels[at]] == guessed[at]).mean() for at in bad])
        )
    how, score = max(tries.items(), key=lambda pair: pair[1], default=("", 0.0))
    clear = score - chance >= _CLEARLY * (rest - chance)
    return Unfollowed(tuple(bad), how if clear else "", here, rest, score if clear else here, chance)


def reordered(rows: Any, labels: Any, orders: Mapping[str, Any]) -> tuple[str, float, float, float] | None:
    """An order of the rows in which labels follow them, where they do not as they stand: its name, how often a straight rule is right as
    they stand and in that order, and by chance. `orders`: for each name the places from which rows are taken."""
    import numpy as np

    if len(labels) < _ENOUGH or len(labels) > _MOST_ROWS:
        return None
    classes = int(labels.max()) + 1
    if not 2 <= classes <= _MOST_CLASSES:
        return None
    spread = rows.std(0)
    made = wide((rows[:, spread > 0] - rows.mean(0)[spread > 0]) / spread[spread > 0], np)
    chance = max(float((labels == k).mean()) for k in range(classes))
    error = float(np.sqrt(chance * (1 - chance) / len(labels)))
    here = crossed(made, labels, classes, np)
    if here > chance + max(_CHANCE * error, 0.1 * (1 - chance)):
        return None
    tried = {name: crossed(made[order], labels, classes, np) for name, order in orders.items()}
    how, there = max(tried.items(), key=lambda pair: pair[1], default=("", 0.0))
    others = [score for name, score in tried.items() if name != how]
    clear = chance + max(3 * _CHANCE * error, 0.2 * (1 - chance))
    if there < clear or max(others, default=0.0) > chance + 0.7 * (there - chance):
        return None
    return how, here, there, chance


def crossed(made: Any, labels: Any, classes: int, np: Any) -> float:
    """How often a rule of one half is right about the other."""
    odd = np.arange(len(labels)) % 2 == 1
    scores = []
    for train in (odd, ~odd):
        weights = rule([Known.of(made[train], labels[train], classes, np)], np)
        scores.append(right(made[~train], labels[~train], weights, np))
    return float(np.mean(scores))

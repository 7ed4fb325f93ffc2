from bisect import bisect
from itertools import pairwise
from statistics import median

from premortem.preflight.data.times import Times, alike, length
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, compared

_FEWEST = 50  # rows of the other split
_BETWEEN = 0.9  # of them


class SeriesSplitByChance(Check):
    """One regular series was divided by chance: what is judged lies between two rows that are trained on.

    ## Why it matters
    The row before and the row after are nearly the answer. The score says how well the model fills gaps, and is far from the score
    that it will have on days to come.

    ## Usual causes
    `train_test_split` with its default `shuffle=True`, `random_split`, or a sample of rows, on a table with one row per hour or day.

    ## What to do
    Cut the series at a time: train on what is before, evaluate on what is after.

    ## When it stays silent
    Unless both files together have one row for each step of the clock and neither has alone, and some column is much alike from one row
    to the next (a correlation above 0.7). Tables with several rows for each time are left alone.
    """

    card = Card("PM649", "series-split-by-chance", "data-order", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for first, second in compared.splits(root.tables):
            for column, times in second.times.items():
                known = first.times.get(column)
                if known is None or not known.follows or not facts.uses(second, column):
                    continue
                found = between(known, times)
                if found is None:
                    continue
                inside, of, step = found
                name, alikeness = max(known.follows, key=lambda pair: pair[1])
                yield self.finding(
                    f"{inside} of {of} rows of `{second.shown}` that were compared lie between two rows of "
                    f"`{first.shown}` by `{column}`; together they are one series with a row every {length(step)}",
                    cause=f"The series was divided by chance, and neighbours are alike (`{name}` of two rows in a row correlates "
                    f"at {alikeness:.2f}): the score on one file is mostly memory of the other.",
                    remedy="Cut the series at a time, and evaluate on what comes after.",
                    column=column,
                    files=[first.shown, second.shown],
                )


def between(trained: Times, judged: Times) -> tuple[int, int, float] | None:
    """How many of the judged times lie between two trained ones that are neighbours in the common series."""
    if not (trained.rising and judged.rising and trained.unit == judged.unit):
        return None
    start, end = max(trained.head[0], judged.head[0]), min(trained.head[-1], judged.head[-1])
    known = [time for time in trained.head if start <= time <= end]
    asked = [time for time in judged.head if start <= time <= end]
    if len(asked) < _FEWEST or len(known) < _FEWEST:
        return None
    steps = [b - a for a, b in pairwise(sorted([*known, *asked]))]
    usual = median(steps)
    if usual <= 0 or sum(alike(step, usual) for step in steps) < _BETWEEN * len(steps):
        return None
    alone = [b - a for a, b in pairwise(asked)]
    if sum(alike(step, usual) for step in alone) > 0.6 * len(alone):
        return None  # blocks: weeks that were drawn, for example
    inside = sum(
        0 < place < len(known) and known[place] - known[place - 1] < 12 * usual
        for place in (bisect(known, time) for time in asked)
    )
    return (inside, len(asked), usual) if inside >= _BETWEEN * len(asked) else None

from collections import defaultdict

from premortem.preflight.data.data_facts import Classes, Listed
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, some


class ClassesDifferBetweenSplits(Check):
    """Two splits have different class folders, or list their classes in another order, so the same class gets two different numbers.

    ## Why it matters
    `ImageFolder` numbers the folders in sorted order, for each split by itself. One folder more in one of them, and every class
    behind it is judged under another number: accuracy below chance with a loss that falls as it should.

    ## Usual causes
    A class with so few samples that none went to validation; `Cat` in one split and `cat` in the other; a stray folder.

    ## What to do
    Give both splits the same folders, or number the classes once, from the training split, and hand that to both.

    ## When it stays silent
    When fewer than half of the folders are in both splits (scenes or persons, not classes), and when the numbers agree
    all the same.
    """

    card = Card("PM669", "classes-differ-between-splits", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        places: dict[str, dict[str, Classes]] = defaultdict(dict)
        for entry in root.classes:
            if entry.split:
                places[entry.place][entry.split] = entry
        for by_split in places.values():
            train = by_split.get("train")
            for split in ("val", "test"):
                if train is not None and split in by_split:
                    yield from self._compare(train, by_split[split])

        for listed in root.lists:
            for other in root.lists:
                if listed.split == "train" != other.split and listed.series == other.series:
                    yield from self._lists(facts, listed, other)

    def _lists(self, facts: DataFacts, train: Listed, other: Listed) -> Findings:
        moved = [name for at, name in enumerate(train.names) if other.names[at : at + 1] != (name,)]
        if set(train.names) != set(other.names) or not moved or not facts.reads(other.path):
            return
        name = moved[0]
        yield self.finding(
            f"`{train.path}` and `{other.path}` list the same {len(train.names)} names in another order: "
            f"`{name}` is {train.names.index(name)} in the one and {other.names.index(name)} in the other",
            cause="Where a label is a place in the list of classes, the labels of the two splits mean other classes.",
            remedy="Keep one list of classes, and number all splits by it.",
            only_train=[],
            only_other=[],
            moved=len(moved),
        )

    def _compare(self, train: Classes, other: Classes) -> Findings:
        one, two = ([name for name, _ in entry.counts] for entry in (train, other))
        common = [name for name in one if name in set(two)]
        moved = [name for name in common if sorted(one).index(name) != sorted(two).index(name)]
        folded = {name.lower() for name in one} & {name.lower() for name in set(two) - set(common)}
        if 2 * len(common) < max(len(one), len(two)) or not (moved or folded):
            return
        missing, extra = ([name for name in a if name not in set(b)] for a, b in ((one, two), (two, one)))
        parts = [
            f"`{train.split}` alone has {some(missing)}" if missing else "",
            f"`{other.split}` alone has {some(extra)}" if extra else "",
        ]
        shift = ""
        if moved:
            name = moved[0]
            shift = (
                f"; numbered in sorted order, `{name}` is {sorted(one).index(name)} in `{train.split}` and "
                f"{sorted(two).index(name)} in `{other.split}`"
            )
        yield self.finding(
            f"the class folders of `{train.split}` and `{other.split}` differ: "
            f"{' and '.join(part for part in parts if part)}{shift}",
            cause="Each split numbers its own folders.",
            remedy="Make the folders the same, or number the classes once from the training split.",
            only_train=missing[:50],
            only_other=extra[:50],
            moved=len(moved),
        )

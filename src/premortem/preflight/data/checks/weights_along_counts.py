from collections.abc import Iterator, Mapping

from premortem.preflight.data.data_facts import Weights
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity
from premortem.profile.weighting import grows, misplaced

_ENOUGH = 100  # labels


class ClassWeightsAlongCounts(Check):
    """The file with the weights of the classes gives the largest weight to the most frequent class, or holds them in another order.

    ## Why it matters
    Weights are there to lift rare classes. In the wrong order they bury them.

    ## Usual causes
    Weights in the order of another list of classes; counts where their inverse was meant.

    ## What to do
    Compute the weights from the labels of this training set, in the order of its classes.

    ## When it stays silent
    When weights or counts are within a factor of three, when the relation is not clear, when some column of labels with as many classes
    fits the weights, and when the script does not name the file.
    """

    card = Card("PM696", "class-weights-along-counts", "data-labels", Severity.WARNING).explaining(
        "class-weights-of-other-classes"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for given in root.weights:
            labels = [found for found in counted(root) if set(found[1]) == set(named(given, found[1]))]
            labels = [found for found in labels if sum(found[1].values()) >= _ENOUGH]
            if not labels or not facts.reads(given.path):
                continue
            every = [[(n[c], w) for c, w in named(given, n).items()] for _, n in labels]
            if not all(grows(pairs) or misplaced(pairs) for pairs in every):
                continue
            where, counts = labels[0]
            weights = named(given, counts)
            frequent, rare = max(counts, key=lambda c: counts[c]), min(counts, key=lambda c: counts[c])
            yield self.finding(
                f"in `{given.path}`, class `{frequent}`, the most frequent with {counts[frequent]:,} "
                f"rows of `{where}`, has weight {weights[frequent]:.3g}; `{rare}`, the rarest with {counts[rare]:,}, has "
                f"{weights[rare]:.3g}",
                cause="The weights are those of these counts, in another order of the classes."
                if misplaced(every[0])
                else "The weights grow with how frequent the classes are: they are those of other classes, or in another order.",
                remedy="Compute the weights from the labels of this training set, in the order of its classes.",
                file=given.path,
                weights=list(given.values[:20]),
                counts=[counts[name] for name in weights][:20],
            )


def counted(root: Root) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Columns of classes, lists of labels and folders of classes of the training split, or of all."""
    for table in root.tables:
        if table.split in {"", "train"}:
            yield from (
                (f"{table.shown}" if not table.sample.columns else f"{table.shown}: {name}", counts)
                for name, counts in table.categories.items()
            )
    for found in root.classes:
        if found.split in {"", "train"}:
            yield found.place or found.split or root.name, dict(found.counts)


def named(given: Weights, counts: Mapping[str, int]) -> dict[str, float]:
    """The weight of each class: by its name, or by its place among all of them, as numbers or letters are sorted."""
    if len(given.values) != len(counts):
        return {}
    if given.classes:
        return dict(zip(given.classes, given.values, strict=True))
    numbers = all(name.lstrip("-").isdecimal() for name in counts)
    order = sorted(counts, key=(lambda name: (int(name), name)) if numbers else (lambda name: (0, name)))
    return dict(zip(order, given.values, strict=True))

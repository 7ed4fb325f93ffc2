from itertools import combinations

from premortem.preflight.data import names
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, share

_FEWEST = 5  # entries in both
_SHARE = 0.01


class ListsShareEntries(Check):
    """The list of what is trained on and the list of what is judged have entries in common.

    ## Why it matters
    The evaluation asks what was trained on. The metric is too good, and the model that it chooses is the one that remembers best.

    ## Usual causes
    A split that was drawn again for one of the lists; folds of which one was added to the training and not taken out of the other.

    ## What to do
    Take the entries out of the training list.

    ## When it stays silent
    Below five entries and one percent of the shorter list; of lists that are not called after a split.
    """

    card = Card("PM700", "lists-share-entries", "data-order", Severity.WARNING).explaining(
        "evaluated-on-training-rows"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        lists = [
            (each, split)
            for each in root.entries
            if each.key and facts.reads(each.path) and (split := names.split_of(each.key.rpartition(".")[2]))
        ]
        for (first, one), (second, two) in combinations(lists, 2):
            before = (first.key.rpartition(".")[0], second.key.rpartition(".")[0])
            if first.path != second.path or one == two or before[0] != before[1]:
                continue
            common = set(first.values) & set(second.values)
            small = min(len(set(first.values)), len(set(second.values)))
            if len(common) >= max(_FEWEST, _SHARE * small):
                yield self.finding(
                    f"`{first.key}` and `{second.key}` of `{first.path}` share {len(common):,} entries "
                    f"({share(len(common), small)} of the shorter list), such as `{min(common)}`",
                    cause="The same samples are in both splits: what is judged was trained on.",
                    remedy="Take them out of the training list.",
                    file=first.path,
                    rows=len(common),
                )

import fnmatch
import re

from premortem.preflight.data.relations.clocks import numbers_of
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity

_PARTS = re.compile(r"fold|part|shard|chunk|split")


class LatestByLetters(Check):
    """The script takes the last of several numbered files by the letters of their names, and that is not the one with the highest number.

    ## Why it matters
    `v9` comes behind `v10` in the alphabet. From the tenth version on, the ninth is used for ever.

    ## Usual causes
    `sorted(glob("ckpt_*.pt"))[-1]`, `max(folder.glob("features_v*.npy"))`.

    ## What to do
    Sort by the number (`key=lambda path: int(path.stem.split("_")[-1])`), or write numbers with leading zeros.

    ## When it stays silent
    Where the code has a key, where both orders end with the same file, where it uses other files of the list, too, and for folds and
    shards, of which the last is as good as any.
    """

    card = Card("PM728", "latest-by-letters", "data-order", Severity.WARNING).explaining("kept-file-is-stale")

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for pattern in sorted(each for each in facts.latest if not _PARTS.search(each.lower())):
            fitting = [path for path in root.paths if fnmatch.fnmatchcase(path.rpartition("/")[2], pattern)]
            called = sorted(path.rpartition("/")[2] for path in fitting)
            numbers = numbers_of(called) if len({p.rpartition("/")[0] for p in fitting}) == 1 else None
            if not numbers or len(set(numbers)) < 2 or numbers[-1] == max(numbers):
                continue
            best = called[numbers.index(max(numbers))]
            yield self.finding(
                f"of {len(called):,} files that fit `{pattern}`, the script takes the last by letters, `{called[-1]}`; "
                f"the one with the highest number is `{best}`",
                cause="Names are sorted as text, in which 9 comes behind 10: an older version of the file is used.",
                remedy="Sort by the number in the name, or write numbers with leading zeros.",
                file=called[-1],
            )

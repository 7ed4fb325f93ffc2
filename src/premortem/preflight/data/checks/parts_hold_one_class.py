from collections import Counter, defaultdict
from collections.abc import Mapping

from premortem.preflight.data.compared import numberless
from premortem.preflight.data.data_facts import LABELS
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, Table
from premortem.profile.weighting import entropy

_STREAMS = {"IterableDataset", "WebDataset", "IterDataPipe", "webdataset", "wds", "FullSyncPipeline"}
_MIXES = ("interleave", "randommix", "random_mix", "roundrobin", "round_robin", "sample_datasets")
_PURE = 0.5  # entropy of the labels within a part, as a share of that of all labels
_FEWEST = 3  # parts
_ROWS = 100


class PartsHoldOneClass(Check):
    """Each part of a stream holds one class, or two: the stream comes class by class.

    ## Why it matters
    A buffer mixes what is near each other, and no more. The model is trained on one class at a time and forgets the others.

    ## Usual causes
    Folders that were packed one after the other; a table that was sorted before it was cut into parts.

    ## What to do
    Shuffle all samples once before they are packed.

    ## When it stays silent
    When the script does not stream its data, when it permutes all of it, and when it reads several parts in turns.
    """

    card = Card("PM625", "parts-hold-one-class", "data-order", Severity.WARNING).explaining(
        "class-sorted-batches", "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        last = {word.rpartition(".")[2] for word in facts.names}
        if facts.permutes or not last & _STREAMS or any(word.lower() in _MIXES for word in last):
            return
        parts: dict[tuple[str, str], list[tuple[Table, Mapping[str, int]]]] = defaultdict(list)
        for table in root.tables:
            for column, counts in table.categories.items():
                if column.lower() in LABELS | {"cls", "folder"} and table.split in {"", "train"}:
                    parts[numberless(table.path), column].append((table, counts))
        for (path, column), found in parts.items():
            every: Counter[str] = sum((Counter(counts) for _, counts in found), Counter())
            overall = entropy(every)
            rows = sum(every.values())
            if len(found) < _FEWEST or rows < _ROWS or not overall:
                continue
            within = sum(entropy(counts) * sum(counts.values()) for _, counts in found) / rows
            if within < _PURE * overall:
                first, counts = found[0]
                yield self.finding(
                    f"the parts `{path}` come class by class: `{first.path}` holds {len(counts)} of "
                    f"{len(every)} classes of `{column}`, and the others likewise",
                    cause="The samples were packed sorted by class and not shuffled; a buffer of the script mixes only what is near each other.",
                    remedy="Shuffle all samples before they are packed into parts.",
                    parts=len(found),
                    classes=len(every),
                    within=round(within / overall, 3),
                )

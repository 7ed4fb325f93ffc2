from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, looks_of, share

_MOST = 0.95
_FEWEST = 100  # samples


class OneClassDominates(Check):
    """More than nineteen in twenty samples have the same label.

    ## Why it matters
    A network that always answers with that label is right 95 % of the time. Accuracy then says nothing, and the loss
    falls quickly to a level at which nothing has been learnt.

    ## Usual causes
    Data of rare events, where it is as it should be; or an import that gave every unknown sample the same label.

    ## What to do
    Judge by a measure that counts each class alike (balanced accuracy, average precision), and consider weights or a
    `WeightedRandomSampler`.
    """

    card = Card("PM668", "one-class-dominates", "data-labels", Severity.INFO)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        folders = [(entry.split or ".", entry.counts) for entry in root.classes]
        labelled = [(k.path, k.labels) for k in looks_of(root) if len(k.labels) > 1]
        for place, counts in [*folders, *labelled]:
            whole = sum(number for _, number in counts)
            name, largest = max(counts, key=lambda each: each[1])
            if whole >= _FEWEST and largest > _MOST * whole:
                yield self.finding(
                    f"{share(largest, whole)} of the samples of `{place}` have the label "
                    f"`{name}` ({largest:,} of {whole:,})",
                    cause="The classes are far from balanced.",
                    remedy="Judge by a balanced measure, and consider weights or a weighted sampler.",
                    label=name,
                    share=largest / whole,
                )

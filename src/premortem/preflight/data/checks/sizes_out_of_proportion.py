from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, compared

_TIMES = 5.0
_FEW = 5000  # rows: a large test set beside a large training set is a choice


class SizesOutOfProportion(Check):
    """The training file has far fewer rows than the one that judges it.

    ## Why it matters
    Splits are nearly always the other way round. A file that broke off, or two names that were exchanged, trains a model on
    next to nothing.

    ## Usual causes
    A copy that was interrupted; a limit of a smoke test; train and test exchanged.

    ## What to do
    Count the rows where the files are made, and make the training file again.

    ## When it stays silent
    Below five times as many rows, and above 5,000 rows of training.
    """

    card = Card("PM677", "sizes-out-of-proportion", "data-empty", Severity.WARNING).explaining(
        "evaluation-dwarfs-training"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        said: set[str] = set()
        for first, second in compared.splits(root.tables):
            if second.split != "val" or first.path in said or not _TIMES * first.rows <= second.rows:
                continue
            if first.rows <= _FEW:
                said.add(first.path)
                yield self.finding(
                    f"`{first.path}` has only {first.rows:,} rows, `{second.path}` has "
                    f"{second.rows:,} ({second.rows / first.rows:.0f} times as many)",
                    cause="The training file is cut off, limited, or exchanged with the other.",
                    remedy="Make the training file again, and count its rows.",
                    training=first.rows,
                    evaluation=second.rows,
                )

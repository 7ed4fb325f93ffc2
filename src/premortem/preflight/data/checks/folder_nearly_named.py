from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Severity, Where, count


class FolderNearlyNamed(Check):
    """The data folder that the code names does not exist, and one with nearly its name does.

    ## Why it matters
    `glob` and `os.walk` of a folder that is not there find nothing and say nothing. The dataset is empty, and the run
    starts all the same.

    ## Usual causes
    `train` for `Train`: the two are one folder on a laptop's disk and two on a Linux server. A letter too many, a dash for
    an underscore.

    ## What to do
    Write the name as it is on the disk. Check `root.is_dir()` before the dataset is built, and raise when it is not.
    """

    card = Card("PM651", "folder-nearly-named", "data-empty", Severity.ERROR).explaining(
        "no-samples", "input-missing", "no-batches"
    )

    def look(self, facts: DataFacts) -> Findings:
        for miss in facts.misses:
            yield self.finding(
                f"`{miss.wanted}` does not exist; did you mean `{miss.there}`, "
                f"which holds {count(miss.samples, 'sample')}?",
                cause="The two names differ by letter case or by a single letter.",
                remedy=f"Write `{miss.there.rpartition('/')[2]}`, or rename the folder.",
                where=Where(file=miss.file or None, line=miss.line),
                wanted=miss.wanted,
                there=miss.there,
                samples=miss.samples,
            )

from premortem.preflight.data.unit import Card, Certainty, Check, DataFacts, Findings, Severity, count

_MANY = 100  # files
_FEW = 10  # samples
_SHARE = 0.02


class FewOfManyFiles(Check):
    """A dataset of the script is far shorter than the folder it reads.

    ## Why it matters
    A handful of samples is learnt by heart in a minute. The loss falls as it should, and nothing is learnt.

    ## Usual causes
    A filter that leaves nearly everything out: a suffix, a minimal length, a list of names from another version of the
    data; a limit for debugging that was left in.

    ## What to do
    Count what the dataset leaves out, by reason, and print it once when it is built.
    """

    card = Card("PM653", "few-of-many-files", "data-empty", Severity.WARNING)

    def look(self, facts: DataFacts) -> Findings:
        for length in facts.lengths:
            if length.files >= _MANY and length.length < _FEW and length.read <= _SHARE * length.files:
                yield self.finding(
                    f"the training dataset `{length.name}` has {count(length.length, 'sample')}, although "
                    f"{length.files:,} files lie in `{length.folder}`",
                    cause="Something in the dataset leaves nearly every file out.",
                    remedy="Print how many files it skips and why, or remove the limit.",
                    certainty=Certainty.SUSPECTED,
                    length=length.length,
                    files=length.files,
                    read=length.read,
                )

from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, count


class NoSamples(Check):
    """A dataset without a single sample.

    ## Why it matters
    A loop over nothing runs without a complaint: no batch, no loss, a model saved as it was made.

    ## Usual causes
    Another folder than the one that was filled; a split whose name is spelled differently; files in a format or with a
    suffix that the loader leaves out; a download or an unpacking that never ended; every sequence shorter than the clip.

    ## What to do
    Look at what the finding says was skipped, and why. Let the dataset raise when it has found nothing:
    `if not self.items: raise FileNotFoundError(root)`.

    ## When it stays silent
    When the script names files in the folder, or their ending, and only `premortem check` cannot read their format.
    """

    card = Card("PM650", "no-samples", "data-empty", Severity.ERROR).explaining("empty-class")

    def look(self, facts: DataFacts) -> Findings:
        misspelled = {miss.wanted for miss in facts.misses}
        for root in facts.roots:
            # The script reads a kind of file that we do not know.
            unknown = facts.words and any(facts.reads(example) for _, _, example in root.skipped)
            if root.name not in misspelled and not (root.samples or root.cut or unknown or _is_text(root)):
                yield self.finding(
                    f"`{root.name}` holds no sample: {_why(root)}",
                    cause="What is there is nothing that a dataset could load, or the data was never put there.",
                    remedy="Name the folder that holds the samples, or finish the download.",
                    skipped=[list(each) for each in root.skipped],
                )


def _is_text(root: Root) -> bool:
    """Text is a sample too, where there is nothing else: JSON lines, plain files."""
    return any(kind == "text" and number for kind, number in root.kinds)


def _why(root: Root) -> str:
    if root.absent:
        return "it does not exist"
    if not root.files and not root.trouble:
        return "there is no file in it to load"
    reasons = [
        f"{count(number, 'file')} skipped because {reason} (`{example}`)"
        for reason, number, example in root.skipped
    ]
    reasons += [f"`{each.path}`: {each.why}" for each in root.trouble[:3]]
    return "; ".join(reasons)

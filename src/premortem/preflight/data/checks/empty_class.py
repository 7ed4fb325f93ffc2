from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, some


class EmptyClass(Check):
    """A class folder without a sample, beside class folders that are full.

    ## Why it matters
    torchvision's `ImageFolder` refuses it. Loaders that list folders by themselves count it as a class: the network gets an
    output that is never trained, and every class behind it another number than in a split without the folder.

    ## Usual causes
    A copy that was interrupted; samples that all went to another split; a folder made for later.

    ## What to do
    Fill the folder or remove it, in all splits alike.
    """

    card = Card("PM667", "empty-class", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for classes in root.classes:
            empty = [name for name, number in classes.counts if not number]
            if not empty:
                continue
            where = f" of `{classes.split}`" if classes.split else ""
            yield self.finding(
                f"{len(empty)} of {len(classes.counts)} class folders{where} "
                f"{'is' if len(empty) == 1 else 'are'} empty: {some(empty)}",
                cause="The samples of that class were not copied, or went elsewhere.",
                remedy="Fill the folder, or remove it in every split.",
                classes=empty[:50],
            )

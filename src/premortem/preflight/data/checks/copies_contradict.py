from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity

_MULTI = 0.2  # of the files: then one picture is meant to have several classes


class CopiesContradict(Check):
    """The same picture lies in two class folders.

    ## Why it matters
    One input has two answers. It cannot learn either, and the best loss it can reach is higher.

    ## Usual causes
    A file that was sorted in by hand twice; two annotators; a class that was renamed and copied.

    ## What to do
    Keep the copy with the right label. Where several labels are right, use a loss for several labels.
    """

    card = Card("PM666", "copies-contradict", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        pairs = root.copies.contradicting if root.copies else ()
        if not root.copies or not pairs:
            return
        first, second = pairs[0]
        yield self.finding(
            f"{len(pairs):,} {'picture lies' if len(pairs) == 1 else 'pictures lie'} in two class "
            f"folders: `{first}` is `{second}`",
            cause="One of the two labels is wrong.",
            remedy="Keep the one with the right label.",
            severity=Severity.INFO if len(pairs) > _MULTI * root.copies.of else Severity.WARNING,
            pairs=[[a, b] for a, b in pairs[:50]],
        )

from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, some


class FolderLacksRole(Check):
    """A sequence or scene without a folder that all of its siblings have.

    ## Why it matters
    Datasets skip what is not complete, or fail when they come to it. Either way it is learnt late.

    ## Usual causes
    An archive that was not unpacked to its end; a step of the preparation that failed for one sequence; `sharp` written
    as `Sharp`.

    ## What to do
    Prepare the named folder again, or leave the whole sequence out.
    """

    card = Card("PM658", "folder-lacks-role", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        if not root.uneven:
            return
        first = root.uneven[0]
        lacks = some(first.lacks)
        more = f"; {len(root.uneven) - 1} more are like that" if len(root.uneven) > 1 else ""
        yield self.finding(
            f"`{first.folder}` has no {lacks}, which {first.siblings} of its siblings have{more}",
            cause="This one was not prepared or copied to its end.",
            remedy="Prepare it again, or leave it out.",
            folders=[[each.folder, list(each.lacks)] for each in root.uneven[:50]],
        )

from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.data.wording import some
from premortem.preflight.unit import Card, Check, Findings, Severity


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

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            if not root.uneven:
                continue
            first = root.uneven[0]
            lacks = some(first.lacks)
            more = f"; {len(root.uneven) - 1} more are like that" if len(root.uneven) > 1 else ""
            yield self.finding(
                f"`{shown(root.name)}`: `{shown(first.folder)}` has no {lacks}, which {first.siblings} of its siblings "
                f"have{more}",
                cause="This one was not prepared or copied to its end.",
                remedy="Prepare it again, or leave it out.",
                folders=[[shown(each.folder), list(each.lacks)] for each in root.uneven[:50]],
            )

from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, some


class LabelsFollowInPart(Check):
    """Labels follow their rows in most of the data, or in another order, and not in a part of it or as it stands.

    ## Why it matters
    A rule that is right about seven shards and wrong about the eighth says that its labels are numbered otherwise, moved, or of
    other rows. The network learns the contradiction.

    ## Usual causes
    Labels that were numbered by another list; a file that was sorted, and its labels not; one row too many at a border.

    ## What to do
    Make the labels of these parts again, from the list of the others.

    ## When it stays silent
    When a straight rule says little about the labels anywhere, and when parts are judged well or badly without a gap between.
    """

    card = Card("PM708", "labels-follow-in-part", "data-labels", Severity.WARNING).explaining(
        "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for found in root.follows:
            if found.parts:
                which = some(found.parts)
                where = f" of `{found.what}`" if found.column else ""
                column = f"`{found.column}` in " if found.column else ""
                text = (
                    f"{column}{which}{where} does not follow its rows as elsewhere: a straight rule is right about {found.here:.0%} of the labels "
                    f"there and {found.rest:.0%} of the others ({found.chance:.0%} by chance)"
                )
                text += f"; they fit once they are {found.how}" if found.how else ""
            else:
                text = (
                    f"{found.what} does not follow: a straight rule is right about {found.here:.0%} of the labels, as by chance "
                    f"({found.chance:.0%}), and about {found.rest:.0%} once rows are {found.how}"
                )
            yield self.finding(
                text,
                cause="These labels are numbered otherwise, moved, or belong to other rows.",
                remedy="Make the labels and their rows again in one go.",
                column=found.column or None,
                how=found.how or None,
            )

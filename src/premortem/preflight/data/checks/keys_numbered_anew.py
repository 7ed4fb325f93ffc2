from premortem.preflight.data.relations.joins import moved
from premortem.preflight.data.relations.renumbered import Renumbered, renumbered
from premortem.preflight.data.unit import Card, Check, DataFacts, Finding, Findings, Root, Severity


class KeysNumberedAnew(Check):
    """Rows belong to another key than the one they are joined by: the keys of one table were numbered anew or moved.

    ## Why it matters
    The join finds a partner for nearly every row, and it is the wrong one. Features and targets belong to different things, so nothing can be learnt.

    ## Usual causes
    A table that was imported again without its ids, so that gaps were closed; ids that begin at 0 in one file and at 1 in the other.

    ## What to do
    Export both tables from one place with their keys, and check a few rows by hand.

    ## How it is measured
    What the one table measures is averaged for each key and explained from what the other says of it: by the key as it is, by the next, by the one
    before, and by keys numbered without gaps. Keys that the rule was not learnt from decide.

    The numbers alone say so where one table has ids with gaps, and the other has as many ids, from 0 or 1 on without one: each then has ids that
    the other lacks. What the tables say of their ids decides, if either order explains any of it; else ten gaps do.

    ## When it stays silent
    For ids without gaps in both tables or in none, for another number of ids, and for tables that are not joined. They are joined where the
    script does it (SQL, pandas, a dictionary), where both have a key of one name, and where one has `customer_id` and the other is a table
    `customer` with an `id`.

    Of other keys, when the key as it is explains a tenth of the spread, when no other numbering explains three tenths, and below 60 keys. Where the keys are
    times or the rows of the list are a series: what follows the key before follows yesterday. The key before and after are only tried
    where keys have gaps.
    """

    card = Card("PM717", "keys-numbered-anew", "data-labels", Severity.WARNING).explaining(
        "uninformative-labels", "rows-without-a-partner"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        seen = set()
        for found in moved(root.tables):
            if not (facts.uses(found.table, found.column) and facts.reads(found.listed.path)):
                continue
            seen |= {(found.table.shown, found.column), (found.listed.shown, found.column)}
            yield self.finding(
                f"`{found.measure}` of `{found.table.shown}` does not follow the rows of "
                f"`{found.listed.shown}` that have its `{found.column}` ({max(0.0, found.as_is):.0%} of its spread is explained), but "
                f"those of {HOW[found.how]} ({found.put_right:.0%}): the ids do not match",
                cause="The keys of one table were numbered anew or moved, so a join gives each row the data of another thing.",
                remedy="Export both tables again with the keys that they had, and check a few rows by hand.",
                file=found.listed.path,
                column=found.column,
                as_is=round(found.as_is, 3),
                put_right=round(found.put_right, 3),
            )
        for new in renumbered(root.tables, facts.joins):
            read = facts.reads(new.table.path) and facts.reads(new.other.path)
            if read and not {(new.table.shown, new.column), (new.other.shown, new.other_column)} & seen:
                yield self._renumbered(new)

    def _renumbered(self, found: Renumbered) -> Finding:
        proof = ""
        if found.measure:
            proof = (
                f"; in the order of the ids `{found.measure}` follows the rows of the other table ({found.put_right:.0%} of its spread is explained), "
                f"and by the ids it does not ({max(0.0, found.as_is):.0%})"
            )
        first, second = found.table.shown, found.other.shown
        return self.finding(
            f"`{found.column}` of `{first}` goes from {found.first:,} to {found.last:,} without a gap, and "
            f"`{found.other_column}` of `{second}`, which has as many ids, lacks {found.gaps:,} of these and has {found.gaps:,} others: from "
            f"{found.begin:,} on a join gives rows the data of another id{proof}",
            cause=f"The rows of `{first}` were numbered anew, one after the other: the ids do not match those of the other table.",
            remedy="Export both tables again with the keys that they had, and check a few rows by hand.",
            file=found.table.path,
            column=found.column,
            gaps=found.gaps,
            as_is=round(found.as_is, 3),
            put_right=round(found.put_right, 3),
        )


HOW = {
    "one less": "the key before it",
    "one more": "the key after it",
    "numbered without gaps": "the keys once they are renumbered without gaps",
}

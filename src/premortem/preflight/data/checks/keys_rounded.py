import struct
from collections.abc import Sequence
from itertools import permutations

from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations import partners
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, whole_tables

_EXACT = 1 << 24  # a float of 32 bits holds all whole numbers up to it
_FEWEST = 20
_ROUNDED = 0.98  # of the keys are keys of the other table, rounded
_FEWER = 0.75  # of the rows have a key of their own, at most


class KeysRounded(Check):
    """The keys of one table are those of another, rounded to a float of 32 bits: several became one.

    ## Why it matters
    Rows that are joined by such a key get the values of a neighbour, and most find no partner.

    ## Usual causes
    A table that went through a frame or an array of float32; a column of ids with a gap in it, which became floats.

    ## What to do
    Store keys as whole numbers of 64 bits, or as texts.

    ## When it stays silent
    For keys below 16,777,216, which are exact, and where the keys of the other table are not the ones that were rounded.
    """

    card = Card("PM726", "keys-rounded", "data-labels", Severity.WARNING).explaining(
        "uninformative-labels", "rows-without-a-partner", "keys-do-not-join"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        whole = [t for t in whole_tables(root) if facts.reads(t.path)]
        large = {(t.shown, column) for t in whole for column in t.cells if is_large(t, column)}
        for table, listed in permutations(whole, 2):
            for column in table.cells if not partners.siblings(table, listed) else ():
                if (listed.shown, column) in large and partners.is_list(listed, column):
                    found = rounded(table.numbers(column), listed.numbers(column))
                    if found is not None:
                        yield self.finding(
                            f"the {len(table.cells[column]):,} rows of `{table.shown}` have only {found[0]:,} different numbers in "
                            f"`{column}`: they are those of `{listed.shown}`, rounded by float32 (`{found[1]}` stands for `{found[2]}`)",
                            cause="The ids went through floats of 32 bits, so several share one number: joined, rows get the values of another.",
                            remedy=f"Store `{column}` as whole numbers of 64 bits, or as text.",
                            file=table.path,
                            column=column,
                        )


def is_large(table: Table, column: str) -> bool:
    """Numbers that a float of 32 bits may not hold."""
    values = table.numbers(column)
    return values is not None and len(values) >= _FEWEST and max(values) >= _EXACT


def rounded(one: Sequence[float] | None, two: Sequence[float] | None) -> tuple[int, int, int] | None:
    """How many different keys are left, one of them, and one that it stands for."""
    if one is None or two is None or min(len(one), len(two)) < _FEWEST or max(two) < _EXACT:
        return None
    if not all(v.is_integer() for v in (*one, *two)):
        return None
    found = set(one)
    if len(found) > _FEWER * len(one) or len(set(two) & found) == len(set(two)):
        return None
    exact = {v: struct.unpack("f", struct.pack("f", v))[0] for v in set(two)}
    made = {near: v for v, near in exact.items() if near != v}
    changed = sum(near != v for v, near in exact.items())
    if sum(v in made or v in exact for v in found) < _ROUNDED * len(found) or changed < 0.2 * len(two):
        return None
    one_of = next((v for v in sorted(found) if v in made), None)
    return None if one_of is None else (len(found), int(one_of), int(made[one_of]))

import math
import re

from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, Table
from premortem.profile.facts import Column

_BITS = {"float16": 11, "float32": 24}
_COUNTED = frozenset(
    "time times timestamp timestamps minute minutes second seconds hour hours ms millis date dates day days tick ticks epoch frame "
    "frames index id ids clock".split()
)


class StoredInFewBits(Check):
    """Times or numbers that count something are stored in a type that rounds them.

    ## Why it matters
    float16 has 11 bits: above 2,048 it has no odd numbers, above 32,768 it goes in steps of 32. float32 does the same from
    16,777,216 on. What is computed from differences or remainders of such a time is noise.

    ## Usual causes
    A table that was made smaller by one type for all columns.

    ## What to do
    Store counters and times as integers or in float64; subtract a start before converting.

    ## When it stays silent
    For measurements, for which a relative error matters, and for numbers that the type still has all of.
    """

    card = Card("PM647", "stored-in-few-bits", "data-scale", Severity.WARNING).explaining(
        "stored-too-coarsely"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for table in root.tables:
            bits = _BITS.get(table.profile.dtype)
            for column in table.profile.columns if bits and counts(table) else ():
                step = step_of(column, bits or 0)
                if step > 1:
                    yield self.finding(
                        f"`{table.shown}` is {table.profile.dtype} and goes up to {column.high:.6g}, where "
                        f"that type has steps of {step:g}",
                        cause="Its numbers count something and were rounded when they were stored.",
                        remedy="Store them as integers or in float64.",
                        file=table.path,
                        apart=step,
                    )
                    break


def counts(table: Table) -> bool:
    """Its name says that it counts."""
    name = table.part or table.path.rpartition("/")[2].partition(".")[0]
    return bool(set(re.split(r"[^a-z]+", name.lower())) & _COUNTED)


def step_of(column: Column, bits: int) -> float:
    """Between two neighbouring numbers of the type, at the median of a column of whole numbers."""
    if not column.whole or column.distinct < 20 or not column.median:
        return 0.0
    return math.ldexp(1.0, math.frexp(abs(column.median))[1] - bits)

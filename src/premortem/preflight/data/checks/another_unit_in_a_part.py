from collections.abc import Iterator

from premortem.amounts import some
from premortem.preflight.data import compared
from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.names import shown
from premortem.preflight.data.relations import columns, units
from premortem.preflight.data.tables import Table
from premortem.preflight.unit import Card, Check, Finding, Findings, Severity


class AnotherUnitInAPart(Check):
    """A part of a column is in another unit: converted, it is distributed as the rest is, and as it stands it is not.

    ## Why it matters
    Half of the weights in pounds and half in kilograms are all numbers. The network learns that there are two kinds of patients.

    ## Usual causes
    Sites, years or devices that measure in other units, and were put into one file or beside each other.

    ## What to do
    Convert where the rows are read, by the column that says where they come from.

    ## When it stays silent
    When parts differ by nature as much as that, when no usual conversion makes them agree, and below thirty rows of a part.
    """

    card = Card(
        "PM617",
        "another-unit-in-a-part",
        "data-scale",
        Severity.WARNING,
        explains=(
            "labels-follow-in-part",
            "columns-differ-between-files",
            "columns-differ-between-phases",
            "train-and-eval-inputs-differ",
        ),
    )

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            seen: set[str] = set()
            for table in (t for t in root.tables if t.cells and "=" not in t.part):
                for column, values in columns.measured(table).items():
                    if facts.uses(table, column):
                        found = self._within(root, table, column, values)
                        if found is not None:
                            seen.add(column)
                            yield found
            for first, second in alike(root.tables):
                one, two = columns.measured(first), columns.measured(second)
                for column in one:
                    if column in two and column not in seen and facts.uses(second, column):
                        odd = units.odd_parts([one[column], two[column]])
                        if odd is not None:
                            seen.add(column)
                            table, other = (first, second) if odd.parts == (0,) else (second, first)
                            yield self._say(
                                root,
                                table,
                                column,
                                f"in `{shown(table.shown)}`",
                                f"in `{shown(other.shown)}`",
                                odd,
                            )

    def _within(self, root: Root, table: Table, column: str, values: object) -> Finding | None:
        import numpy as np

        made = np.asarray(values)
        for name, cells in columns.sources(table).items():
            groups = columns.groups(cells)
            if name == column or len(groups) < 2:
                continue
            found = units.odd_parts([made[rows] for rows in groups.values()])
            if found is not None and (len(groups) >= 4 or found.large):
                odd = [list(groups)[at] for at in found.parts]
                where = f"where `{shown(name)}` is {some([f'`{shown(word)}`' for word in odd])}"
                return self._say(root, table, column, where, "in the other rows", found)
        chunks = list(columns.chunks(len(made)))
        found = units.odd_parts([made[rows] for rows in chunks]) if len(chunks) >= 4 else None
        if found is not None:
            first, last = chunks[found.parts[0]][0], chunks[found.parts[-1]][-1]
            if (
                len(found.parts) == found.parts[-1] - found.parts[0] + 1
                and len(chunks) - len(found.parts) >= 3
            ):
                where = f"in about rows {first:,} to {last:,} of `{shown(table.shown)}`"
                return self._say(root, table, column, where, "in the other rows", found)
        mixed = units.mixture(made)
        if mixed is not None:
            how, here, rest, number = mixed
            where = f"in {number:,} rows of `{shown(table.shown)}`"
            return self._say(
                root, table, column, where, "in the others", units.Converted((), how, here, rest, True)
            )
        return None

    def _say(
        self, root: Root, table: Table, column: str, here: str, rest: str, found: units.Converted
    ) -> Finding:
        return self.finding(
            f"`{shown(root.name)}`: `{shown(column)}` of `{shown(table.shown)}` is in another unit {here}: its median is {found.here:.4g} there and "
            f"{found.rest:.4g} {rest}; converted ({found.how}), both are distributed alike",
            cause="Rows that were measured in two units stand under one name.",
            remedy="Convert the rows of one source where they are read.",
            file=shown(table.path),
            column=column,
            conversion=found.how,
        )


def alike(tables: tuple[Table, ...]) -> Iterator[tuple[Table, Table]]:
    """Splits of one dataset, and two files whose names differ by a number."""
    for pair in compared.splits(tables):
        if pair.first.cells and pair.second.cells:
            yield pair.first, pair.second
    for same in compared.numbered(tables):
        if len(same) == 2 and all(table.cells for table in same):
            yield same[0], same[1]

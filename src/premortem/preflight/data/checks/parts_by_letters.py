import re
from collections import defaultdict
from collections.abc import Iterator

from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, Table

_FEWEST = 3  # parts


class PartsByLetters(Check):
    """Numbered parts are read in the order of their letters, and one file lists something for all of their rows.

    ## Why it matters
    By name, part 10 comes before part 2. The rows of the parts and the labels in the other file no longer belong together, and both have
    the same length.

    ## Usual causes
    Numbers without leading zeros, and `sorted(folder.glob(...))`.

    ## What to do
    Write numbers with leading zeros, or sort by number: `sorted(files, key=lambda path: int(path.stem.split("_")[-1]))`.

    ## When it stays silent
    Unless the code sorts names without a key, and another file has exactly as many rows as all parts together.
    """

    card = Card("PM698", "parts-in-the-order-of-letters", "data-order", Severity.WARNING).explaining(
        "uninformative-labels", "labels-numbered-differently"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        if not facts.sorts:
            return
        for parts in numbered(root):
            by_name = sorted(parts, key=lambda table: table.path)
            by_number = sorted(parts, key=number)
            total = sum(table.rows for table in parts)
            listed = [t for t in root.tables if t.rows == total and t not in parts]
            if by_name == by_number or not listed:
                continue
            late = next(at for at, (a, b) in enumerate(zip(by_name, by_number, strict=True)) if a is not b)
            yield self.finding(
                f"sorted by name, `{by_name[late].path}` comes in the place of "
                f"`{by_number[late].path}`, and `{listed[0].shown}` has a row for each of the {total:,} rows of these "
                f"{len(parts)} files",
                cause="The script sorts the names of files as texts, in which 10 comes before 2.",
                remedy="Sort by the number in the name, or write the numbers with leading zeros.",
                files=[table.path for table in by_name[:20]],
                rows=total,
            )


def numbered(root: Root) -> Iterator[list[Table]]:
    """Arrays that differ by the last number in their names."""
    found: dict[tuple[str, str], list[Table]] = defaultdict(list)
    for table in root.tables:
        bare = re.sub(r"\d+(?=\D*$)", "#", table.path)
        if bare != table.path and table.sample.columns:
            found[bare, table.part].append(table)
    yield from (parts for parts in found.values() if len(parts) >= _FEWEST)


def number(table: Table) -> int:
    return int(re.findall(r"\d+", table.path)[-1])

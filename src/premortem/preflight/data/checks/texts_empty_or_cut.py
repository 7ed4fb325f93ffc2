import re
from collections import Counter
from collections.abc import Iterator, Sequence

from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, compared, share

_FEWEST = 100  # rows
_EMPTY = 0.1  # of the rows
_BLOCK = 20  # empty texts in a row
_IN_BLOCKS = 0.9  # of the empty ones
_AS_IN_THE_OTHER = 0.5  # of the share of empty texts
_GOES_ON = 0.2  # of the texts of the greatest length: with the word that the next row begins with, the last one is a word of the table
_CUT = 0.2  # of the texts have the greatest length,
_CUT_BESIDE = 0.05  # ... where those of the other split go beyond it
_LENGTHS = 10  # different ones
_MIDDLE = 0.8  # of the cut texts end within a word or behind a space


class TextsEmptyOrCut(Check):
    """Texts are missing in whole blocks of a table, or all end at one length.

    ## Why it matters
    A row without a text still has its label, and says nothing about it. What was cut off may be what the label is about.

    ## Usual causes
    A join that found no text for a part of the rows; a field of 80 or 255 letters that the texts went through.

    ## What to do
    Fetch the texts again, and leave out rows without one.

    ## When it stays silent
    For empty texts that are spread over the table or half as frequent in other splits, for texts that end with a sign, below a fifth of the
    texts at one length (five percent where those of the other split are longer). Where the next row goes on with the text: a document in
    pieces. Rows that have another text instead are no more than a note.
    """

    card = Card("PM730", "texts-empty-or-cut", "data-empty", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        others: dict[str, Table] = {}
        for one, two in compared.splits([t for t in root.tables if t.cells]):
            others[one.shown], others[two.shown] = two, one
        for table, column in texts(root.tables, facts):
            other = others.get(table.shown)
            beside = list(other.cells.get(column, ())) if other is not None else []
            cells = table.cells[column]
            where = f"`{column}` of `{table.shown}`"
            missing = empty(cells)
            if missing is not None and bare(beside) < _AS_IN_THE_OTHER * bare(cells):
                first, number = missing
                others_in = [
                    table.cells[name] for name in table.words if name != column and name in table.cells
                ]
                instead = any(
                    sum(bool(b.strip()) for a, b in zip(cells, given, strict=True) if not a.strip())
                    > 0.5 * number
                    for given in others_in
                )
                yield self.finding(
                    f"{where} is empty in {number:,} of {len(cells):,} rows ({share(number, len(cells))}), in blocks: from row {first:,} on",
                    cause="The texts of these rows are missing, and their labels are not: a join or an export that ended early.",
                    remedy="Fetch the texts again, or leave these rows out.",
                    severity=Severity.INFO if instead else Severity.WARNING,
                    file=table.path,
                    column=column,
                    rows=number,
                )
            ended = cut(cells, beside)
            if ended is not None and not goes_on(table, column, ended[0]):
                length, number, longest = ended
                more = f"; those of the other split have up to {longest:,}" if longest > length else ""
                yield self.finding(
                    f"{where}: {number:,} of {len(cells):,} texts ({share(number, len(cells))}) have exactly {length:,} letters, and none has more{more}",
                    cause="The texts were cut off (truncated) at this length: a field that holds no more.",
                    remedy="Export the texts again in full.",
                    file=table.path,
                    column=column,
                    length=length,
                )


def texts(tables: Sequence[Table], facts: DataFacts) -> Iterator[tuple[Table, str]]:
    for table in tables:
        if "=" not in table.part and facts.reads(table.path):
            for column in table.words:
                if (
                    column in table.cells
                    and len(table.cells[column]) >= _FEWEST
                    and facts.uses(table, column)
                ):
                    yield table, column


def empty(cells: Sequence[str]) -> tuple[int, int] | None:
    """The first row of the first block without texts, and how many rows have none."""
    missing = [not cell.strip() for cell in cells]
    number = sum(missing)
    if number < _EMPTY * len(cells):
        return None
    blocks, begin, first = 0, None, -1
    for at, gone in enumerate([*missing, False]):
        if gone:
            begin = at if begin is None else begin
        elif begin is not None:
            if at - begin >= _BLOCK:
                blocks += at - begin
                first = begin if first < 0 else first
            begin = None
    return (first, number) if blocks >= _IN_BLOCKS * number else None


def cut(cells: Sequence[str], beside: Sequence[str]) -> tuple[int, int, int] | None:
    """The length at which texts end, how many have it, and the greatest length of the other split."""
    lengths = [len(cell) for cell in cells]
    end = max(lengths)
    at_end = [cell for cell in cells if len(cell) == end]
    longer = sum(len(cell) > end for cell in beside)
    least = _CUT_BESIDE if beside and longer >= _CUT_BESIDE * len(beside) else _CUT
    if len(at_end) < least * len(cells) or len(set(lengths)) < _LENGTHS:
        return None
    open_end = sum(cell[-1].isalnum() or cell[-1].isspace() for cell in at_end)
    return (end, len(at_end), max(map(len, beside), default=0)) if open_end >= _MIDDLE * len(at_end) else None


def bare(cells: Sequence[str]) -> float:
    """The share of empty texts."""
    return sum(not cell.strip() for cell in cells) / max(1, len(cells))


def goes_on(table: Table, column: str, length: int) -> bool:
    """Whether rows of this length are pieces of one document with the row behind them: a word is cut between the two, or another column
    stays the same there, and changes elsewhere."""
    cells = table.cells[column]
    full = [at for at in range(len(cells) - 1) if len(cells[at]) == length]
    short = [at for at in range(len(cells) - 1) if len(cells[at]) < length]
    words = Counter(word for cell in cells for word in cell.split()[1:-1])
    ends = [(re.search(r"\w+$", cells[at]), re.match(r"\w+", cells[at + 1])) for at in full]
    joined = sum(bool(a and b and words[a[0] + b[0]] and not words[a[0]]) for a, b in ends)
    if joined >= max(3, _GOES_ON * len(full)):
        return True
    return any(
        sum(other[at] == other[at + 1] for at in full) >= 0.9 * len(full)
        and sum(other[at] == other[at + 1] for at in short) <= 0.1 * len(short)
        for name, other in table.cells.items()
        if name != column and short
    )

"""Places that files name in other samples: boxes in pictures, spans in texts."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from premortem.preflight.data import names
from premortem.preflight.data.data_facts import Annotated

_BOX = re.compile(r"box|rect|\broi")
_CORNERS = (
    ("xmin", "ymin", "xmax", "ymax"),
    ("x_min", "y_min", "x_max", "y_max"),
    ("x1", "y1", "x2", "y2"),
    ("x0", "y0", "x1", "y1"),
    ("left", "top", "right", "bottom"),
    ("x", "y", "w", "h"),
    ("x", "y", "width", "height"),
)
_SPANS = (("start", "end"), ("begin", "end"), ("start_char", "end_char"), ("start_offset", "end_offset"))
_SAID = ("text", "word", "mention", "surface", "answer", "value")
_LONG = 20  # characters of a text in which spans lie
_FEWEST = 5  # records
_DEEPEST = 3
_MOST = 20_000  # records


def of_json(value: Any) -> tuple[Annotated, ...]:
    """Of lists of records, at any depth; a record may name its picture by the number of another record (COCO)."""
    lists = list(lists_in(value))
    numbered = {
        record["id"]: file
        for records in lists
        for record in records
        if isinstance(record.get("id"), (int, str)) and (file := picture_of(record))
    }
    return tuple(each for records in lists for each in of_records(records, numbered))


def lists_in(value: Any, depth: int = 0) -> Iterator[list[Mapping[str, Any]]]:
    if isinstance(value, list):
        records = [each for each in value[:_MOST] if isinstance(each, Mapping)]
        if len(records) >= _FEWEST and len(records) >= 0.9 * len(value[:_MOST]):
            yield records
    elif isinstance(value, Mapping) and depth < _DEEPEST:
        for each in value.values():
            yield from lists_in(each, depth + 1)


def of_records(
    records: Iterable[Mapping[str, Any]], numbered: Mapping[Any, str] | None = None
) -> Iterator[Annotated]:
    for record in records:
        picture = picture_of(record)
        if not picture and numbered:
            ids = [v for k, v in record.items() if k.endswith("_id") and isinstance(v, (int, str))]
            picture = next((numbered[each] for each in ids if each in numbered), "")
        if picture and (boxes := tuple(boxes_in(record))):
            yield Annotated(what="box", name=picture, places=boxes)
        text = max((v for v in record.values() if isinstance(v, str)), key=len, default="")
        if len(text) >= _LONG and (spans := list(spans_in(record))):
            yield Annotated(
                what="span",
                name=text,
                places=tuple((float(start), float(end)) for start, end, _ in spans),
                said=tuple(said for _, _, said in spans),
            )


def of_columns(columns: Mapping[str, Sequence[str]]) -> tuple[Annotated, ...]:
    """Of a table with a column of pictures and four of corners, or a column of texts and two of offsets."""
    lower = {name.strip().lower(): name for name in columns}
    corners = next((each for each in _CORNERS if all(name in lower for name in each)), ())
    offsets = next((each for each in _SPANS if all(name in lower for name in each)), ())
    if not corners and not offsets:
        return ()
    rows = zip(*(cells[:_MOST] for cells in columns.values()), strict=True)
    wanted = {lower[name] for name in (*corners, *offsets)}
    records = [
        {
            name: number(cell) if name in wanted else cell
            for name, cell in zip((n.strip().lower() for n in columns), row, strict=True)
        }
        for row in rows
    ]
    return tuple(of_records(records))


def number(cell: str) -> Any:
    try:
        made = float(cell)
    except ValueError:
        return cell
    return int(made) if made.is_integer() else made


def picture_of(record: Mapping[str, Any]) -> str:
    return next((v for v in record.values() if isinstance(v, str) and names.kind(v) == "image"), "")


def boxes_in(record: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[float, ...]]:
    for key, value in record.items():
        if isinstance(value, list) and value and depth < 2:
            if all(isinstance(each, Mapping) for each in value):
                for each in value[:100]:
                    yield from boxes_in(each, depth + 1)
            elif _BOX.search(str(key).lower()):
                yield from (box for each in [value, *value[:100]] if (box := four(each)))
        elif isinstance(value, Mapping) and _BOX.search(str(key).lower()) and depth < 2:
            yield from boxes_in(value, depth + 1)
    for corners in _CORNERS:
        if all(is_number(record.get(name)) for name in corners):
            yield tuple(float(record[name]) for name in corners)
            break


def four(value: Any) -> tuple[float, ...] | None:
    if isinstance(value, list) and len(value) == 4 and all(is_number(each) for each in value):
        return tuple(map(float, value))
    return None


def spans_in(record: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[int, int, str]]:
    for start, end in _SPANS:
        if type(record.get(start)) is int and type(record.get(end)) is int:
            said = (record.get(name) for name in _SAID) if depth else ()
            yield record[start], record[end], next((s for s in said if isinstance(s, str)), "")
            return
    answer, begin = record.get("answer", record.get("answer_text")), record.get("answer_start")
    if isinstance(answer, str) and type(begin) is int:
        yield begin, begin + len(answer), answer
    for value in record.values():
        if isinstance(value, list) and depth < 1:
            for each in value[:100]:
                if isinstance(each, Mapping):
                    yield from spans_in(each, depth + 1)
                elif isinstance(each, list) and len(each) in {2, 3} and all(type(v) is int for v in each[:2]):
                    yield each[0], each[1], ""


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

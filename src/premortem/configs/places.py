"""Where the values of a YAML, JSON or TOML file stand, as text: what a text means is not decided here."""

from __future__ import annotations

import bisect
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from premortem.files.machine import shown_warnings_stay_known

if TYPE_CHECKING:
    from ruamel.yaml import YAML
    from ruamel.yaml.nodes import Node

BOM = b"\xef\xbb\xbf"


class Broken(Exception):  # noqa: N818 - a state of the file
    """It cannot be read; the text is a sentence. `line` and `column` count from 1, `offset` is in bytes where it is known."""

    def __init__(self, sentence: str, *, line: int = 1, column: int = 1, offset: int | None = None) -> None:
        super().__init__(sentence)
        self.line, self.column, self.offset = line, column, offset


class Scalar(NamedTuple):
    """A value: its key, with the numbers of sequences as text, and its bytes in the file."""

    key: tuple[str, ...]
    text: str
    quoted: bool
    start: int
    end: int


def compose_yaml(text: str) -> tuple[YAML, list[Node | None]]:
    """The documents, read as YAML 1.2, and what has read them."""
    with shown_warnings_stay_known():
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

    reader = YAML(typ="safe", pure=True)
    try:
        # An anchor that is used again is not an error.
        reader.composer.warn_double_anchors = False
        return reader, list(reader.compose_all(text))
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        what = getattr(error, "problem", None) or _why(error)
        if re.match(r" *\t", "".join(text.splitlines()[line - 1 : line])):
            what = f"line {line} is indented with a tab, and YAML allows only spaces there"
        raise Broken(f"this file cannot be read as YAML ({what})", line=line, column=column) from None


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return " ".join(str(error).split())[:200] or type(error).__name__


_TOKEN = re.compile(
    rb"""(?P<blank>[\s,:]+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<word>[-+.\w]+)
    |(?P<open>[\[{])
    |(?P<close>[\]}])""",
    re.VERBOSE | re.DOTALL,
)


def json_scalars(data: bytes) -> Iterator[Scalar]:
    """JSON as people write it: comments and trailing commas are passed over, only nonsense is refused."""
    key: list[str] = []  # of the containers that are open
    inside: list[str] = []  # "{" or "["
    name: str | None = None  # of the pair that is being read
    counts: list[int] = []
    place = len(BOM) if data.startswith(BOM) else 0
    while place < len(data):
        token = _TOKEN.match(data, place)
        if token is None or (token["close"] and not inside):
            raise Broken("this file cannot be read as JSON", offset=place)
        place = token.end()
        if token["blank"]:
            continue
        if token["close"]:
            inside.pop()
            counts.pop()
            del key[len(inside) - 1 if inside else 0 :]
            name = None
            continue
        text = data[token.start() : token.end()].decode(errors="replace")
        if token["string"] and inside[-1:] == ["{"] and name is None:
            name = text[1:-1]
            continue
        if inside[-1:] == ["["]:
            name = str(counts[-1])
            counts[-1] += 1
        if token["open"]:
            if inside:
                key.append(name or "")
            inside.append(text)
            counts.append(0)
        else:
            quoted = bool(token["string"])
            full = (*key, name) if name is not None else tuple(key)
            yield Scalar(full, text[1:-1] if quoted else text, quoted, token.start(), token.end())
        name = None
    if inside:
        raise Broken("this file cannot be read as JSON: it ends too early", offset=len(data))


def load_toml(text: str) -> dict[str, Any]:
    """Raises Broken."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise Broken("this file cannot be read as TOML (it is nested too deeply)") from None
    except ValueError as error:  # TOMLDecodeError, or a number with too many digits
        sentence, _at, place = str(error).partition(" (at line ")
        number = place.partition(",")[0]
        if "integer string conversion" in sentence:
            sentence = "a number in it has thousands of digits"
        line = int(number) if number.isdecimal() else 1
        raise Broken(f"this file cannot be read as TOML ({sentence})", line=line) from None


_TABLE = re.compile(rb"^[ \t]*\[+\s*([^\]\r\n]+?)\s*\]+", re.MULTILINE)
_PAIR = re.compile(
    rb"""^[ \t]*((?:[\w-]+|"[^"\r\n]*"|'[^'\r\n]*')(?:\s*\.\s*(?:[\w-]+|"[^"\r\n]*"))*)[ \t]*=[ \t]*"""
    rb"""("[^"\r\n]*"|'[^'\r\n]*'|[^\s#\[{"'][^#\r\n]*?)[ \t]*(?:\#.*)?$""",
    re.MULTILINE | re.VERBOSE,
)


def toml_scalars(data: bytes) -> Iterator[Scalar]:
    """Tables and one-line pairs: what settings are made of. Arrays and inline tables are passed over."""
    tables = [(match.start(), match.group(1).decode(errors="replace")) for match in _TABLE.finditer(data)]
    starts = [start for start, _name in tables]
    for match in _PAIR.finditer(data):
        place = bisect.bisect_right(starts, match.start()) - 1
        table = toml_key(tables[place][1]) if place >= 0 else ()
        text = match.group(2).decode(errors="replace")
        quoted = text[:1] in {'"', "'"}
        key = (*table, *toml_key(match.group(1).decode(errors="replace")))
        yield Scalar(key, text[1:-1] if quoted else text, quoted, match.start(2), match.end(2))


def key_name(key: tuple[str, ...]) -> str:
    """The last part of a key that is not a number of a sequence."""
    return next((part for part in reversed(key) if not part.isdigit()), "")


def toml_key(text: str) -> tuple[str, ...]:
    """`tool."premortem".lint` is ("tool", "premortem", "lint")."""
    return tuple(part.strip().strip("\"'") for part in text.split("."))

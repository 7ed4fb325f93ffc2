"""Secrets in a file of settings: YAML, TOML, JSON, INI, .env, line by line.

In such a file a value needs no quotes, and goes on to the end of its line; and all that is indented below `secrets:`,
or stands in the section `[credentials]`, belongs to it. Lines stay lines: a report shows them by their number.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from premortem.redaction.names import Level, hides, level

SUFFIXES = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".env", ".conf", ".properties", ".netrc")

_LINE = re.compile(
    r"(?P<head>(?P<indent>\s{0,200})(?:-\s{1,8})?(?:export\s{1,8}|set\s{1,8})?[\"']?(?P<name>[A-Za-z_][\w. /-]{0,100}?)[\"']?"
    r"\s{0,40}[:=]\s{0,200})(?P<value>.*)"
)
_ITEM = re.compile(r"(?P<head>(?P<indent>\s{0,200})(?:-\s{1,8})?)(?P<value>.*)")
_SECTION = re.compile(r"\s{0,40}\[{1,2}(?P<name>[^\[\]]{1,200})\]{1,2}\s{0,40}")
_OPENS = re.compile(r"[|>][+-]?\d?|[{\[(]|[&!][A-Za-z_]{1,80}|")  # what belongs to it comes below
_TAIL = re.compile(r"[,}\])\s]*$")


@dataclass
class _Below:
    """Lines that are indented more than this one belong to it."""

    indent: int
    name: str

    def holds(self, line: str, indent: int) -> bool:
        return (
            not line.strip()
            or indent > self.indent
            or (indent == self.indent and line.lstrip().startswith("- "))
        )


def redact(text: str, hide: Callable[[str], str]) -> str:
    """`hide` is given each secret, and says what stands in its place."""
    below: _Below | None = None
    section = False
    lines = []
    for line in text.split("\n"):
        header = _SECTION.fullmatch(line)
        found = _LINE.match(line)
        indent = len(line) - len(line.lstrip())
        without = ""
        if below is not None and not below.holds(line, indent):
            below = None
        if header is not None and below is None:
            section = level(header["name"]) is Level.SURE
        elif below is not None or section:
            inner = found or _ITEM.match(line)
            if below is None or level(below.name) is Level.SURE or _judged(below.name, inner):
                without = _emptied(inner, hide)
        elif found is not None:
            value = found["value"].strip()
            if level(found["name"]) and _OPENS.fullmatch(value):
                below = _Below(indent, found["name"])
            elif _judged(found["name"], found):
                without = _emptied(found, hide)
        lines.append(without or line)
    return "\n".join(lines)


def _judged(name: str, found: re.Match[str] | None) -> bool:
    return found is not None and hides(name, found["value"].strip().rstrip(",").strip("\"'"), literal=False)


def _emptied(found: re.Match[str] | None, hide: Callable[[str], str]) -> str:
    """The line without its value; what closes a bracket stays."""
    if found is None:
        return ""
    value = found["value"]
    tail = _TAIL.search(value)
    end = tail.start() if tail is not None else len(value)
    inner = value[:end]
    if not inner or inner in "{[(\"'" or _OPENS.fullmatch(inner):
        return ""
    quote = inner[0] if inner[0] in "\"'" else ""
    kept = quote if quote and inner.endswith(quote) and len(inner) > 1 else ""
    return found["head"] + kept + hide(inner.strip(quote) if quote else inner) + kept + value[end:]

"""`# premortem: ignore[CODE]`: a comment at the end of a line silences that line, alone on a line the next one.

`# noqa: PM501` does the same at the end of a line; without a code of premortem it is another tool's business.
"""

import io
import re
import tokenize
from collections.abc import Iterable, Iterator

MARKS = re.compile(rb"premortem:|noqa[^\n]*PM\d", re.IGNORECASE)
_NOQA = re.compile(r"#\s*noqa\s*:(?P<words>[\s,A-Za-z0-9]*)", re.IGNORECASE)
_COMMENT = re.compile(r"#\s*premortem:\s*ignore(?P<rest>-file)?\s*(?:\[(?P<words>[^\]]*)\])?", re.IGNORECASE)
_CODE = re.compile(r"pm\d+")
_ELSEWHERE = re.compile(r"pm[1-467]\d\d")
EVERYTHING = frozenset(("*",))


class Suppressions:
    """What the comments of one file silence. Lines count in the joined source of a notebook."""

    def __init__(self, data: bytes, *, python: bool) -> None:
        self._lines: dict[int, frozenset[str]] = {}
        self._file: frozenset[str] = frozenset()
        self._comments: list[tuple[int, int, int, frozenset[str]]] = []  # line, column, end column, words
        small = data.lower()
        if (b"premortem:" not in small and b"noqa" not in small) or not MARKS.search(data):
            return
        text = data.decode("utf-8-sig", errors="replace")
        lines = re.split(r"\r\n|\r|\n", text)
        for number, comment in comments(text) if python else enumerate(lines, start=1):
            if (noqa := _NOQA.search(comment)) is not None:
                codes = frozenset(_CODE.findall(noqa["words"].lower()))
                self._lines[number] = self._lines.get(number, frozenset()) | codes
                column = lines[number - 1].find(noqa[0]) + 1
                self._comments.append((number, column, column + len(noqa[0].rstrip()), codes))
            match = _COMMENT.search(comment)
            if not match:
                continue
            words = _words(match["words"])
            column = lines[number - 1].find(match[0]) + 1
            self._comments.append((number, column, column + len(match[0]), words))
            if match["rest"]:
                self._file |= words
                continue
            alone = lines[number - 1].lstrip().startswith("#")
            for line in (number, number + 1) if alone else (number,):
                self._lines[line] = self._lines.get(line, frozenset()) | words

    def __bool__(self) -> bool:
        return bool(self._lines or self._file)

    def silences(self, lines: Iterable[int], code: str, name: str) -> bool:
        """Whether a comment for one of these lines, or for the whole file, names this code."""
        words = self._file.union(*(self._lines.get(line, ()) for line in lines))
        return not words.isdisjoint({"*", code.lower(), name})

    def unknown(self, known: frozenset[str]) -> Iterator[tuple[int, int, int, str]]:
        """Words that name no rule: line, column, end column, word. Reasons may stand beside a word that does.

        Codes that are not lint's are for `run` and `check`."""
        for line, column, end, words in self._comments:
            named = words & (known | EVERYTHING)
            for word in sorted(word for word in words - named if not _ELSEWHERE.fullmatch(word)):
                if not named or _CODE.fullmatch(word):
                    yield line, column, end, word


def comments(text: str) -> Iterable[tuple[int, str]]:
    """Real comments only: a string may contain the same words."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError):
        return


def _words(given: str | None) -> frozenset[str]:
    if given is None:
        return EVERYTHING
    return frozenset(word.strip().lower() for word in re.split(r"[,\s]+", given) if word.strip())

"""Texts, records and command lines without the secrets in them.

A redactor remembers what it has recognised: a password that stood after `--password` is left out of every later text,
whatever stands around it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from premortem.redaction import settings, shapes
from premortem.redaction.memory import HIDDEN, Memory, in_query, user_is_secret
from premortem.redaction.names import Level, hides, level

_LONGEST = 1 << 20  # characters of a text in which forms are looked for; of a longer one, piece by piece
_DEPTH = 40
_SHORT = 120  # characters
_FEW = 12  # likewise
_CLEAN = 4096
_OPTION = re.compile(r"-{1,2}[A-Za-z][\w.-]*")
_ASSIGNED = re.compile(r"(?s)(?P<name>[-+~]{0,2}[A-Za-z_][\w./@-]*)=(?P<value>.*)")
_NAMES = re.compile(r"[A-Za-z][A-Za-z_ -]*")
_CLOSING = ",;:.)]}>"


class Redactor(Memory):
    """Leaves out what is secret, and remembers it."""

    def __init__(self, parent: Redactor | None = None) -> None:
        super().__init__(parent)
        self._clean: dict[str, str] = {}  # short texts that were asked for, and the answers
        self._clean_of = 0  # the version of the memory that they are of

    def argv(self, words: Sequence[str]) -> list[str]:
        """A command line: `--api-key X`, `--token=X`, `wandb.api_key=X`, `postgres://u:X@h`. What is hidden is remembered."""
        shown: list[str] = []
        option = ""
        for word in words:
            if (
                option
                and hides(option, word)
                and not (_OPTION.fullmatch(word) and len(word) < 40 and word.startswith("--"))
            ):
                self.learn(word)
                shown.append(HIDDEN)
                option = ""
                continue
            assigned = _ASSIGNED.fullmatch(word)
            if assigned is not None and hides(assigned["name"], assigned["value"].strip("\"'")):
                self.learn(assigned["value"].strip("\"'"))
                shown.append(f"{assigned['name']}={HIDDEN}")
            else:
                self.learn_url(word)
                shown.append(self.text(word))
            option = word if _OPTION.fullmatch(word) else ""
        return shown

    def record(self, value: Any, name: str = "", *, secret: bool = False, depth: int = 0) -> Any:
        """Plain JSON: a key names its value, and a list may be a command line."""
        if isinstance(value, str):
            if secret or (name and hides(name, value)):
                self.learn(value)
                return HIDDEN if value else value
            return self._again(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float)):
            return HIDDEN if name and hides(name, value) else value
        if depth > _DEPTH:
            return value
        inside = secret or (bool(name) and level(name) is Level.SURE)
        if isinstance(value, Mapping):
            called = value.get("name", value.get("key"))
            return {
                self._again(key) if isinstance(key, str) else key: self.record(
                    item,
                    called if key in {"value", "default"} and isinstance(called, str) else str(key),
                    secret=inside,
                    depth=depth + 1,
                )
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple, set, frozenset)):
            if not inside and len(value) > 1 and all(isinstance(item, str) for item in value):
                return self.argv(list(value))
            return [self.record(item, name, secret=inside, depth=depth + 1) for item in value]
        return value

    def source(self, text: str, path: str) -> str:
        """The text of a file: of settings, or of code."""
        name = path.rsplit("/", 1)[-1].lower()
        if name.endswith(settings.SUFFIXES) or name.startswith(".env"):
            text = settings.redact(text, self._learned)
            return self.text(text, bare=False)
        return self.text(text, bare=False)

    def text(self, text: str, *, bare: bool = True) -> str:
        """Any text. Not `bare`: only what is in quotes counts as a value, as in code."""
        if len(text) < 4:
            return text
        text = self.without_known(text)
        if len(text) > _LONGEST:
            cuts = [text[at : at + _LONGEST] for at in range(0, len(text), _LONGEST)]
            return "".join(self._by_form(cut, bare=bare) for cut in cuts)
        return self._by_form(text, bare=bare)

    def _again(self, text: str) -> str:
        """The same for what comes again and again: names, places."""
        if len(text) > _SHORT or self._parent is not None:
            return self.text(text)
        if self._clean_of != self.version or len(self._clean) >= _CLEAN:
            self._clean, self._clean_of = {}, self.version
        found = self._clean.get(text)
        if found is None:
            found = self._clean[text] = self.text(text)
        return found

    def _learn_of(self, name: str, value: str) -> None:
        """An ordinary word is remembered only where its name leaves no doubt."""
        if level(name) is Level.SURE or not value.strip().isalpha():
            self.learn(value)

    def _learned(self, value: str) -> str:
        self.learn(value)
        return HIDDEN

    def _by_form(self, text: str, *, bare: bool) -> str:
        low = text.lower()
        if "://" in text:
            text = shapes.WEBHOOK.sub(lambda found: found[1] + HIDDEN, text)
            text = shapes.USERINFO.sub(self._userinfo, text)
            text = shapes.QUERY.sub(self._query, text)
        if any(map(low.__contains__, shapes.FORM_HINTS)):
            text = shapes.VENDOR.sub(HIDDEN, text)
        if any(map(low.__contains__, shapes.NAME_HINTS)):
            text = self._by_name(text, low, bare=bare)
        return text

    def _by_name(self, text: str, low: str, *, bare: bool) -> str:
        if "-----begin" in low:
            text = shapes.PEM.sub(_pem, text)
        if "bearer" in low or "basic" in low:
            text = shapes.BEARER.sub(_bearer, text)
        if "wandb" in low:
            text = shapes.WANDB.sub(rf"\1{HIDDEN}", text)
        if '"' in text or "'" in text:
            for pattern in (shapes.QUOTED, shapes.LISTED, shapes.SAID):
                text = _replaced(pattern, self._quoted, text)
            if "add_argument" in text:
                text = _replaced(shapes.DEFAULT, self._quoted, text)
        if bare and ("=" in text or ":" in text or "--" in text):
            if "cookie" in low:
                text = _replaced(shapes.COOKIE, self._element, text)
            text = _replaced(shapes.BARE, self._bare, text)
        if bare and "</" in text:
            text = _replaced(shapes.ELEMENT, self._element, text)
        return text

    def _userinfo(self, found: re.Match[str]) -> str:
        if shapes.PORT.match(found[0]):
            return found[0]
        scheme, user, password = found["scheme"], found["user"], found["password"]
        if password:
            self.learn(password)
        shown = HIDDEN if user_is_secret(user, password) else user
        if password is None:
            return f"{scheme}{shown}@"
        return f"{scheme}{shown}:{HIDDEN if password else ''}@"

    def _query(self, found: re.Match[str]) -> str:
        return found["before"] + HIDDEN if in_query(found["name"], found["value"]) else found[0]

    def _quoted(self, found: re.Match[str]) -> str | None:
        kind = next(kind for kind in ("double", "single", "escaped") if found[kind] is not None)
        value = found[kind]
        if (
            HIDDEN in value
            or not hides(found["name"], value, literal=False)
            or _is_made_here(found["quoted"])
        ):
            return None
        if found.re is shapes.LISTED and _is_list_of_names(found, value):
            return None
        self._learn_of(found["name"], value)
        begin, end = found.start(kind) - found.start(), found.end(kind) - found.start()
        return found[0][:begin] + HIDDEN + found[0][end:]

    def _bare(self, found: re.Match[str]) -> str | None:
        name, value = found["name"] or found["option"], found["bare"]
        kept = value.rstrip(_CLOSING)
        if HIDDEN in value or not kept or shapes.PROSE.fullmatch(kept) or shapes.EXPRESSION.fullmatch(value):
            return None
        if not hides(name, kept, literal=False) or ("=" not in found["head"] and _is_prose(found)):
            return None
        self._learn_of(name, kept)
        return found["head"] + HIDDEN + value[len(kept) :]

    def _element(self, found: re.Match[str]) -> str | None:
        name = found["name"] if found.re is shapes.ELEMENT else "cookie"
        return found["head"] + HIDDEN if hides(name, found["bare"], literal=False) else None


def _replaced(pattern: re.Pattern[str], instead: Callable[[re.Match[str]], str | None], text: str) -> str:
    """Like `sub`; where `instead` says None, the value is looked at again: it may be the name of what follows."""
    pieces: list[str] = []
    at = 0
    while (found := pattern.search(text, at)) is not None:
        put = instead(found)
        if put is None:
            pieces.append(text[at : found.end("head")])
            at = found.end("head")
        else:
            pieces += [text[at : found.start()], put]
            at = found.end()
    pieces.append(text[at:])
    return "".join(pieces)


def _is_list_of_names(found: re.Match[str], value: str) -> bool:
    """Columns of a table, options of a parser: no setting and its value."""
    if level(found["name"]) is not Level.SURE or _OPTION.fullmatch(value):
        return True
    return not found["head"].lstrip("\"'").startswith("-") and _NAMES.fullmatch(value) is not None


def _is_made_here(literal: str) -> bool:
    """f"Bearer {token}": the secret is elsewhere."""
    prefix = literal[: len(literal) - len(literal.lstrip("rbfuRBFU"))]
    if "f" not in prefix.lower():
        return False
    rest = re.sub(r"\{[^{}]*\}", "", literal[len(prefix) :])
    return rest != literal[len(prefix) :] and sum(char.isalnum() for char in rest) < _FEW


def _is_prose(found: re.Match[str]) -> bool:
    """`invalid token: unexpected end of input`: an ordinary word, and the sentence goes on."""
    sure = level(found["name"] or found["option"]) is Level.SURE
    return not sure and found["bare"].isalpha() and found.string[found.end() : found.end() + 1] == " "


def _pem(found: re.Match[str]) -> str:
    """Lines stay lines."""
    body = re.sub(r"[^\n\\]+", HIDDEN, found[2].replace("\\n", "\n")) if "\n" in found[2] else HIDDEN
    return found[1] + body + (found[3] or "")


def _bearer(found: re.Match[str]) -> str:
    mixed = any(not char.isalpha() for char in found[3].rstrip("=.")) or len(found[3]) >= 24
    return f"{found[1]}{found[2]}{HIDDEN}" if mixed else found[0]

"""What was recognised as a secret once, in every form in which a library may show it later."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from premortem.redaction import shapes
from premortem.redaction.names import hides, looks_random

HIDDEN = "[hidden]"
_MOST = 1000  # values that are remembered
_WORD = re.compile(r"[A-Za-z]+|[0-9]+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
# Ordinary words that are not remembered as secrets, even where they are used as a password.
_COMMON = frozenset(
    "password passwd secret premortem training accuracy gradient optimizer scheduler checkpoint parameter learning batch epoch "
    "validation evaluate evaluation localhost username postgres database default example changeme testing".split()
)


class Memory:
    """`parent` is another one, whose secrets are these too."""

    def __init__(self, parent: Memory | None = None) -> None:
        self._parent = parent
        self._known: dict[str, re.Pattern[str] | None] = {}  # None: it is found wherever its characters are
        self._lock = threading.RLock()
        self._environment: dict[str, str] = {}
        self._variables: Any = None  # as they were when they were last looked at
        self.version = 0  # how often something was added

    def learn(self, value: str) -> None:
        """Remember a secret, in whatever form a library may show it."""
        if not self._memorable(value):
            return
        self._remember(value)
        forms = {value, unquote(value), _unescaped(value)}
        forms |= {
            shown
            for form in forms
            for shown in (
                *(repr(form)[1:-1], json.dumps(form)[1:-1], quote(form, safe="")),
                # As a part of a text that holds the other quote too, which decides what repr() escapes.
                repr(form + "'\"")[1:-4],
            )
        }
        for form in forms | {quote(value)}:
            if self._memorable(form):
                self._remember(form)
        for line in value.splitlines() if "\n" in value else ():
            if len(line) >= 16 and not line.startswith("-----"):
                self._remember(line.strip())

    def _memorable(self, value: str) -> bool:
        """Short and common words are part of every text: they are hidden beside their name, and only there."""
        if value.lower() in _COMMON or HIDDEN in value:
            return False
        return len(value) >= (8 if _WORD.fullmatch(value) else 6)

    def _remember(self, value: str) -> None:
        with self._lock:
            if value in self._known or len(self._known) >= _MOST:
                return
            bounded = (
                re.compile(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])")
                if _WORD.fullmatch(value)
                else None
            )
            longest_first = sorted({**self._known, value: bounded}.items(), key=lambda item: -len(item[0]))
            self._known = dict(longest_first)
            self.version += 1

    def learn_url(self, url: str) -> None:
        """The password of a URL, and the secrets in its query."""
        for found in shapes.WHOLE_URL.finditer(url):
            if shapes.PORT.match(found[0]):
                continue
            user, password = found["user"], found["password"]
            if password:
                for each in {password, password.partition("@")[0]}:  # it may hold one; there may be two URLs
                    self.learn(each)
                    self.learn(base64.b64encode(f"{unquote(user)}:{unquote(each)}".encode()).decode())
                if "://" in password:
                    self.learn_url(f"{password.partition('@')[2]}@")
            if user and user_is_secret(user, password):
                self.learn(user)
        for found in shapes.QUERY.finditer(url):
            if in_query(found["name"], found["value"]):
                self.learn(found["value"])

    def learn_environment(self, variables: Mapping[str, str]) -> None:
        """Of all variables; asking again costs next to nothing when none has changed."""
        raw = getattr(variables, "_data", variables)  # os.environ decodes each value each time
        if raw == self._variables:
            return
        self._variables = dict(raw)
        seen = self._environment
        for name, value in variables.items():
            if seen.get(name) == value:
                continue
            seen[name] = value
            if hides(name, value):
                self.learn(value.strip())
            if "://" in value:
                self.learn_url(value)

    def without_known(self, text: str) -> str:
        for value, bounded in self._known.items():
            if value in text:
                text = text.replace(value, HIDDEN) if bounded is None else bounded.sub(HIDDEN, text)
        return text if self._parent is None else self._parent.without_known(text)


def _unescaped(value: str) -> str:
    """As it is when it was written as a literal."""
    return _ESCAPE.sub(_character, value) if "\\" in value else value


def _character(found: re.Match[str]) -> str:
    if found[1] or found[2]:
        return chr(int(found[1] or found[2], 16))
    return {"n": "\n", "t": "\t", "r": "\r"}.get(found[3], found[3])


def user_is_secret(user: str, password: str | None) -> bool:
    """A token may stand where a name should: https://TOKEN@host, https://TOKEN:x-oauth-basic@host."""
    return looks_random(user) or len(user) >= 32 or password == "x-oauth-basic"  # noqa: S105 - it says that there is none


def in_query(name: str, value: str) -> bool:
    if value.startswith(HIDDEN):
        return False
    return name.lower() in shapes.QUERY_NAMES or hides(name, value, literal=False)

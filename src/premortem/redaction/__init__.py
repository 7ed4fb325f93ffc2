"""What a secret is, decided in one place; whatever leaves this process goes through here.

    redacted(text)        a line, a message, an exception's text
    record(value)         JSON: journal, findings, capsule, pages for programs (plain.dumps does it for them)
    argv(words)           a command line
    source(text, path)    a file that is kept: code, settings

What is a secret:
    by its name           --password X, wandb.api_key=X, DB_PASSWD=X, "token": "X", Authorization: Bearer X   names.py
    by its place          scheme://user:X@host, ?sig=X, a webhook's address, a private key                    shapes.py
    by its form           hf_X, sk-X, ghp_X, AKIAX, JWTs, ...: what their makers let be recognised            shapes.py
    by its value          what was recognised once in this process, wherever it turns up later                memory.py

The script itself gets its real arguments and environment, and what it prints is not changed.
"""

import os
from collections.abc import Sequence
from typing import Any

from premortem.redaction.memory import HIDDEN
from premortem.redaction.redactor import Redactor
from premortem.redaction.restoring import missing, restored

__all__ = [
    "HIDDEN",
    "Redactor",
    "argv",
    "learn",
    "learn_file",
    "learn_url",
    "line",
    "missing",
    "record",
    "redacted",
    "restored",
    "source",
]

ours = Redactor()
_MOST = 1 << 19  # characters of a file that are looked at


def redacted(text: str) -> str:
    ours.learn_environment(os.environ)
    return ours.text(text)


def line(text: str) -> str:
    """A printed line. There are many: variables that the script has set since are looked at elsewhere."""
    return ours.text(text)


def record(value: Any) -> Any:
    ours.learn_environment(os.environ)
    return ours.record(value)


def argv(words: Sequence[str]) -> list[str]:
    ours.learn_environment(os.environ)
    return ours.argv(words)


def source(text: str, path: str) -> str:
    ours.learn_environment(os.environ)
    return ours.source(text, path)


def learn(value: str) -> None:
    """Remember a secret that only its owner can know for one: an address that may not be shown, say."""
    ours.learn(value)


def learn_url(url: str) -> None:
    ours.learn_url(url)


def learn_file(path: str) -> None:
    """The secrets that are written in a file of settings or in a script. One that cannot be read has none."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - a path as it was given
            text = file.read(_MOST)
    except (OSError, ValueError):
        return
    source(text, path)

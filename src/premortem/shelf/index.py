"""The heads of all runs that are over, in one file. Two writers may overwrite each other: what is lost comes back with the next reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from premortem.errors import JournalError
from premortem.shelf import layout
from premortem.vault.remote import Remote


def read(remote: Remote) -> dict[str, Any]:
    """name → head. Empty when there is none, or none that can be read."""
    try:
        found = layout.unpack(remote.read(layout.INDEX_NAME, layout.INDEX), layout.INDEX)
    except (FileNotFoundError, JournalError):
        return {}
    return found if isinstance(found, dict) else {}


def add(remote: Remote, heads: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises anything."""
    known = read(remote)
    merged = {**known, **{name: layout.compact(about) for name, about in heads.items()}}
    if merged != known:
        remote.write(layout.INDEX_NAME, layout.pack(merged))

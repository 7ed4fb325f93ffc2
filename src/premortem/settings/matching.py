"""Which findings and files a word of the settings means."""

import difflib
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from premortem.errors import UsageError
from premortem.findings import FAMILIES


class Named(Protocol):
    """A card, or a finding."""

    @property
    def code(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def family(self) -> str: ...


def matches(named: Named, word: str) -> bool:
    """A word is a code, the beginning of a code, a name, a family, or ALL."""
    word = word.strip()
    upper = word.upper()
    if upper == "ALL":
        return True
    if upper.startswith("PM"):
        return named.code.startswith(upper)
    return word.lower() in {named.name, named.family}


def check_words(words: Iterable[str], known: Iterable[Named], kind: str) -> None:
    """Raises UsageError for a word that means nothing."""
    known = list(known)
    for word in words:
        if word.lower() in FAMILIES or any(matches(each, word) for each in known):
            continue
        spellings = [spelling for each in known for spelling in (each.code, each.name)]
        near = difflib.get_close_matches(word.upper() if word[:1].isupper() else word, spellings, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "`premortem explain --all` lists them"
        raise UsageError(f"no {kind} is called `{word}`; {hint}")


@lru_cache(maxsize=4096)
def matches_path(path: str, pattern: str, root: str) -> bool:
    """`tests/*` matches below the root; `*_old.py` matches a name anywhere; `legacy` a folder anywhere.

    `!src/*` matches everything else.
    """
    if pattern.startswith("!"):
        return not matches_path(path, pattern[1:], root)
    full = Path(path).absolute()
    try:
        parts = full.relative_to(root).parts
    except ValueError:
        parts = full.parts[1:]
    inside = "/".join(parts)
    pattern = pattern.rstrip("/").removeprefix("./")
    if fnmatch(inside, pattern) or fnmatch(inside, f"{pattern}/*"):
        return True
    return "/" not in pattern and any(fnmatch(part, pattern) for part in parts)

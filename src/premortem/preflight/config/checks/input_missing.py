import difflib
import os
import re
from pathlib import Path

from premortem.amounts import short
from premortem.preflight.config.settings_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity, Where

_SPLIT = r"(?:train|val|valid|validation|test|eval|dev)"
_THING = r"(?:data|dataset|input|image|img|label|mask|annotation|ann|csv|manifest|corpus|vocab|source|src|lq|gt|hq)s?"
_PLACE = r"(?:dir|path|root|file|folder|csv|list)s?"
_INPUT = re.compile(
    rf"(?:{_SPLIT}_)?{_THING}_?{_PLACE}|{_SPLIT}_?{_PLACE}|{_PLACE}_?(?:{_SPLIT}|{_THING})|data_?root|dataroot(?:_\w+)?",
    re.IGNORECASE,
)
_OUTPUT = re.compile(r"out|save|log|result|cache|tmp|temp|export|dump", re.IGNORECASE)
_EXTENSION = re.compile(
    r"\.(?:csv|tsv|txt|json|jsonl|parquet|npy|npz|h5|hdf5|pt|pth|tar|lmdb|arrow|yaml)$", re.IGNORECASE
)


class InputMissing(Check):
    """A setting names a file or folder to read, and there is none.

    ## Why it matters
    The script ends when it opens it. With `glob` it does not: it trains on nothing, or on what is left.

    ## Usual causes
    A path of another machine; the command was started in another folder; `Train` for `train`; data that was not
    unpacked.

    ## What to do
    Name the folder as it is called here.

    ## When it stays silent
    For settings that name places to write to, for URLs and templates, when no code reads the key, and when the code
    downloads or makes what it reads.
    """

    card = Card("PM637", "input-missing", "config", Severity.WARNING)

    def look(self, facts: Facts) -> Findings:
        if facts.fetches:
            return
        for file in facts.files:
            for setting in file.settings:
                if setting.name in facts.reads.names and is_input(setting.name, setting.text):
                    folders = (*facts.folders, file.path.parent)
                    yield from self._said(setting.shown, setting.text, setting.where, folders)
        for option in facts.options.values():
            if isinstance(option.value, str) and is_input(option.name, option.value):
                where = Where(option.file, option.line)
                yield from self._said(option.spelled[0], option.value, where, facts.folders)

    def _said(self, name: str, text: str, where: Where, folders: tuple[Path, ...]) -> Findings:
        meant = Path(os.path.expandvars(text)).expanduser()
        if any((folder / meant).exists() for folder in folders):
            return
        near = _near(folders[0] / meant)
        yield self.finding(
            f"`{name}` names `{text}`, and there is nothing",
            cause=f"The closest folder that exists is {short(_deepest(folders[0] / meant))}.",
            remedy=f"Did you mean {short(near)}?"
            if near
            else "Name it as it is called here, seen from the folder the command starts in.",
            where=where,
        )


def is_input(name: str, text: str) -> bool:
    if not _INPUT.fullmatch(name) or _OUTPUT.search(name):
        return False
    if "://" in text or "{" in text or "$(" in text or "*" in text or "\n" in text:
        return False
    return "/" in text or text.startswith((".", "~")) or _EXTENSION.search(text) is not None


def _deepest(path: Path) -> Path:
    return next((folder for folder in path.parents if folder.is_dir()), path)


def _near(path: Path) -> str:
    folder = _deepest(path)
    missing = path.relative_to(folder).parts[0]
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return ""
    same = [name for name in names if name.lower() == missing.lower()]
    found = same or difflib.get_close_matches(missing, names, n=1, cutoff=0.75)
    return str(folder / found[0]) if found else ""

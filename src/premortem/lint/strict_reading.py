"""`--strict-files`: every config is read, whether a rule asks for it or not, and one that cannot be read is reported."""

from collections.abc import Iterable, Iterator

from premortem.files import untrusted
from premortem.lint import engine, problems
from premortem.lint.configs import SUFFIXES, Config
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.parsing import Unreadable


def unread(paths: Iterable[str]) -> Iterator[Diagnostic]:
    """What is wrong with the configs among these files."""
    for path in paths:
        if not path.endswith(SUFFIXES):
            continue
        checked = engine.Checked()
        try:
            data = untrusted.read(path)
            if len(data) > engine.LARGE_CONFIG:
                continue  # that is data
            _ = Config(path, data).entries
        except Unreadable as problem:
            checked.unreadable(path, problem)
        except OSError:
            continue  # the check itself reports it
        yield from checked.diagnostics


def is_unread(diagnostic: Diagnostic) -> bool:
    return diagnostic.card.code == problems.UnreadableFile.card.code and diagnostic.cell is None

"""A load of the script's: is what it reads what was saved?

    torch.load("last.pt")
        look up        does the file hold checksums, or is its print known?
        load           as ever: what it returns, and what it raises, is the library's own
        compare        a small file at once; a large one in another thread, which is waited for for a twentieth of
                       the load's time. What is not compared by then is reported between two steps

A damaged file is loaded all the same: a script that meets an exception here may start over from nothing, and which
earlier version should stand in for the file is for a person to say. The finding names it.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.actions.keep import whose_turn
from premortem.actions.save import real
from premortem.events import LoadChecked, Site
from premortem.vault import foreign_checksums, load_checks
from premortem.vault.background_work import Clerk
from premortem.vault.load_checks import Alteration

if TYPE_CHECKING:
    from premortem.actions.saving import Saving

_SHARE = 0.05  # of a load's time, for waiting and for small files
_SMALL = 1 << 20  # bytes; a script may read its data set in such files, thousands of them ...
_FREE = 1.0  # ... and after so many seconds of looking at them, only that share of them is looked at
_UNFINISHED = 60.0  # seconds since it was written, in which a file that does not load may become a whole one
_AT_THE_END = 60.0  # seconds that the end of a run waits for a check


@dataclass
class Check:
    """One look at what is being loaded, on its way."""

    path: Path
    given: str
    step: int
    at: Site | None
    look: Callable[[], Alteration | None]
    identity: Callable[[], object]  # changes when the file is written
    close: Callable[[], None]
    known: object  # the identity before the load
    small: bool
    raised: bool = False  # by the load itself
    damaged: Alteration | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def unfinished(self) -> bool:
        """Another process may still be writing it, and the script may wait for that."""
        if self.damaged is None or not (self.raised and self.damaged.torn):
            return False
        try:
            return time.time() - self.path.stat().st_mtime < _UNFINISHED
        except OSError:  # gone by now
            return True


class Loading:
    """Stands around the libraries' functions that load; `save_calls.py` leads the calls here."""

    def __init__(self, saving: Saving) -> None:
        self.saving = saving
        self.session = saving.session
        self.home = saving.home
        self._reader = Clerk("premortem-reader")
        self._found: deque[Check] = deque()
        self._loaded, self._looked = 0.0, 0.0  # seconds; those of looking are the processor's

    def load(self, source: Any, call: Callable[[], Any], *, folder: bool = False) -> Any:
        """Returns what `call` returns, and raises what it raises."""
        if not self.saving.active():
            return call()
        begin = self._of_folder if folder else self._of_file
        check: Check | None = self.saving.attempt("load", lambda: begin(source))
        if check is None:
            return call()
        began = time.monotonic()
        check.raised = True
        try:
            result = call()
            check.raised = False
            return result
        finally:
            took = time.monotonic() - began
            self._loaded += took
            self._compare(check, took)

    def settle(self) -> None:
        """Say what was found since the last time. In the run's own thread."""
        while self._found:
            check = self._found.popleft()
            if not check.unfinished():
                self._report(check)

    def finish(self, seconds: float) -> None:
        """The run is over: what is still being compared is waited for."""
        self._reader.wait(min(seconds, _AT_THE_END))
        self.settle()

    # --- what is looked at -----------------------------------------------------------------------

    def _of_file(self, source: Any) -> Check | None:
        """For a path, or a file that was opened to be read and was not read yet; of all else nothing is known."""
        began = time.thread_time()
        named = isinstance(source, (str, os.PathLike))
        given = os.fspath(source) if named else _name_of(source)
        if not isinstance(given, str) or "://" in given:
            return None
        path = real(given)
        if not path.is_file():
            return None
        with ExitStack() as closing:
            file = closing.enter_context(path.open("rb", buffering=0))
            size = os.fstat(file.fileno()).st_size
            same = named or os.path.samestat(os.fstat(source.fileno()), os.fstat(file.fileno()))
            if not same or self._spared(size) or not load_checks.is_checkable(file, path, self.home):
                return None
            closing.pop_all()  # the check that follows reads it, and closes it
        self._looked += time.thread_time() - began
        look = functools.partial(load_checks.file_altered, file, path, self.home)
        return self._check(
            path, given, look, functools.partial(foreign_checksums.identity, file), file.close, size
        )

    def _spared(self, size: int) -> bool:
        return size < _SMALL and self._looked > _FREE + _SHARE * self._loaded

    def _of_folder(self, source: Any) -> Check | None:
        if not isinstance(source, (str, os.PathLike)) or "://" in os.fspath(source) or not whose_turn():
            return None
        path = real(source)
        if not path.is_dir() or not (path / ".metadata").is_file():
            return None
        look = functools.partial(load_checks.folder_altered, path, self.home)
        identity = functools.partial(_folder_identity, path)
        return self._check(path, os.fspath(source), look, identity, lambda: None, None)

    def _check(
        self,
        path: Path,
        given: str,
        look: Callable[[], Alteration | None],
        identity: Callable[[], object],
        close: Callable[[], None],
        size: int | None,
    ) -> Check:
        at, small = self.saving.saved.where(), size is not None and size < _SMALL
        return Check(path, given, self.session.step, at, look, identity, close, identity(), small)

    # --- after the load --------------------------------------------------------------------------

    def _compare(self, check: Check, took: float) -> None:
        if check.small:
            self._look(check)
        else:
            # Beside the load it would take the interpreter from it again and again; now the file is in memory, too.
            job = functools.partial(self._look, check)
            self.saving.attempt("load", lambda: self._reader.have_done(job))
            check.done.wait(_SHARE * took)
        if self.session.listening():
            self.saving.attempt("load", self.settle)

    def _look(self, check: Check) -> None:
        began = time.thread_time()
        try:
            damaged = check.look()
            # A file that is being rewritten is no damaged one: it must be as it was, and say the same twice.
            if damaged and check.look() == damaged and check.identity() == check.known:
                check.damaged = damaged
                self._found.append(check)
        except OSError:
            pass  # whoever cannot read it hears so from the load itself
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.session.fault("load", error)
        finally:
            with suppress(OSError):
                check.close()
            self._looked += time.thread_time() - began
            check.done.set()

    def _report(self, check: Check) -> None:
        shelf, sending = self.saving.shelf, self.saving.sending
        kept = load_checks.newest_whole(shelf.folder.parent, check.path)
        self.session.emit(
            LoadChecked(
                step=check.step,
                at=check.at,
                path=check.given,
                damaged=check.damaged.problem if check.damaged is not None else "",
                kept=os.path.relpath(kept[0], self.home) if kept is not None else "",
                kept_step=kept[1] if kept is not None else None,
                mirror=sending.mirror.remote.shown if sending is not None else "",
                raised=check.raised,
            )
        )


def _name_of(file: Any) -> Any:
    """Of a file object that stands at its beginning; None for all others."""
    try:
        at_its_beginning = "r" in file.mode and "b" in file.mode and file.tell() == 0 and file.fileno() >= 0
        name = file.name
    except Exception:  # noqa: BLE001 - a stranger's class, which may answer as it likes
        return None
    return name if at_its_beginning else None


def _folder_identity(folder: Path) -> object:
    statuses = ((path.name, path.stat()) for path in load_checks.files_of(folder))
    return [(name, each.st_ino, each.st_mtime_ns, each.st_size) for name, each in statuses]

"""A save of the script's: whole or not at all, read back, looked at, and nothing good lost.

    torch.save(state, "best.pt")
        look           are the trained weights in it finite?
        draft          written beside best.pt, under the same name
        read back      the checksums in it against its bytes
        keep           the version that is at best.pt now, as a link
        publish        the draft takes its place; or, when it is poisoned and a good file is there, goes to quarantine
        mirror         in the background

What the script sees is what it would see alone: the same bytes under the same name, the same exceptions. A fault of
ours ends in the plain save. With `changes=False` (observe) nothing is written anywhere: only the look remains.
"""

from __future__ import annotations

import errno
import functools
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.actions import disk_space
from premortem.actions.keep import whose_turn
from premortem.actions.save import Save, one_line, remove_draft
from premortem.actions.sharded_saves import Jointly
from premortem.events import Event, RoomShort, SaveChecked
from premortem.vault import foreign_checksums
from premortem.vault.atomic import Draft, no_room, sweep
from premortem.vault.kept_versions import SPARE, Shelf
from premortem.vault.save_verdict import UNKNOWN, Looked

if TYPE_CHECKING:
    from premortem.actions.mirror_sending import Sending
    from premortem.probes import Attachment

_SERIOUS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS}  # a plain save would meet the same
_SYNC_EVERY = 1.0  # seconds between two waits for the disk, for files that are no checkpoints


class Saving:
    """Stands in for the libraries' functions that save; `save_calls.py` leads the calls here."""

    def __init__(
        self, attachment: Attachment, shelf: Shelf, sending: Sending | None, *, changes: bool, home: Path
    ) -> None:
        self.session = attachment.session
        self.saved = attachment.saved
        self.shelf = shelf
        self.sending = sending
        self.changes = changes
        self.home = home  # where records of files are
        self.seconds = 0.0  # what the last checkpoint took
        self.met: list[Callable[[Path], None]] = []  # called with the path of each checkpoint
        # What else of ours may be on a disk that is full; each frees the disk of a path, and says whether it did.
        self.ours: dict[str, Callable[[Path], bool]] = {}
        self._local = threading.local()
        self._by_hand: dict[Path, Save] = {}  # written through a file object that may not be closed yet
        self._events: deque[Event] = deque()  # of other threads, until the run's own one comes by
        self._swept: set[Path] = set()
        self._synced = 0.0

    def active(self) -> bool:
        """Whether a call is the script's own: not premortem's, not inside another save, not in a forked child."""
        return self.session.on and not self.session.looking and not getattr(self._local, "inside", False)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """What this thread does with files now is ours."""
        self._local.inside = True
        try:
            yield
        finally:
            self._local.inside = False

    def save(self, save: Save) -> Any:
        """Returns what `save.write` returns, and raises what it raises."""
        began = time.monotonic()
        with self.inside():
            save.looked = self.look(save.thing)
            result = self._careful(save) if self.changes else self._plain(save)
        if save.looked.checkpoint:
            self.seconds = time.monotonic() - began
        self._report_saved(save)
        return result

    def save_jointly(self, save: Save, group: Any, *, possible: bool) -> Any:
        """Likewise, of a save that every rank of a group is making now."""
        with self.inside():
            result = Jointly(self).save(save, group, possible=possible)
        if whose_turn():
            self._report_saved(save)
        return result

    def written_by_hand(self, save: Save) -> None:
        """Written through a file object of the script's own, which emptied the old file when it was opened."""
        save.looked = self.look(save.thing)
        self.judge(save, overwrote=save.path in self.shelf.known)
        if save.looked.checkpoint and not save.looked.poisoned:
            self._by_hand[save.path] = save

    # --- the two ways --------------------------------------------------------------------------

    def _plain(self, save: Save) -> Any:
        had_good = self.shelf.good_at(save.path)
        result = save.write_in_place()
        self.shelf.published(save.path, self.session.step, save.looked.poisoned)
        self.judge(save, overwrote=had_good)
        self._send_later(save)
        return result

    def _careful(self, save: Save) -> Any:
        try:
            return self._drafted(save)
        except BaseException as error:  # torch.distributed's is no Exception
            if not self._full(save, error):
                raise
            full = error
        given_up = self.attempt("room", lambda: self.shelf.make_room(save.path), 0)
        if given_up:
            try:
                result = self._drafted(save)
            except BaseException as error:
                if not self._full(save, error):
                    raise
                full = error
            else:
                self._emit(save, RoomShort(path=save.given, given_up=given_up, in_place=False))
                return result
        return self.without_room(save, given_up, full)

    def _full(self, save: Save, error: BaseException) -> bool:
        return bool(
            self.attempt(
                "room", lambda: disk_space.is_full(save.path, error, save.looked.bytes), default=False
            )
        )

    def without_room(self, save: Save, given_up: int, full: BaseException) -> Any:
        """As the script alone would do it, with what was there before kept as well as that can be done."""
        short = RoomShort(path=save.given, given_up=given_up, in_place=True)
        if save.looked.poisoned and self.shelf.good_at(save.path):
            if not self.attempt("quarantine", lambda: self._quarantined_elsewhere(save), default=False):
                short.in_place, short.failed = False, "it is not finite, and the old file is good"
                self._emit(save, short)
            return None
        put_back = self.attempt("room", lambda: disk_space.set_aside(save.path, self.shelf))
        try:
            if disk_space.not_allowed(save.path) or (
                put_back is None and disk_space.too_large(save.path, self.attempt("room", save.measure))
            ):
                raise full  # noqa: TRY301 - handled like the failure that is foreseen here
            result = self._once_more(save, short, put_back)
        except BaseException as error:
            if self._full(save, error):
                short.in_place, short.failed = False, one_line(error)
                self._emit(save, short)
            raise
        self.shelf.published(save.path, self.session.step, save.looked.poisoned)
        self._emit(save, short)
        return result

    def _quarantined_elsewhere(self, save: Save) -> bool:
        draft = Draft(self.shelf.folder / save.path.name, Path(save.given).name)
        try:
            save.write(draft.path)
            place = self.shelf.divert(draft.path, save.path, self.session.step, save.looked.poisoned)
        finally:
            draft.discard()
        self.judge(save, quarantined=str(place))
        return True

    def _once_more(self, save: Save, short: RoomShort, put_back: disk_space.PutBack | None) -> Any:
        """In place; and again, when something of ours was in its way."""
        try:
            return disk_space.in_place(save.path, save.write_in_place, put_back)
        except BaseException as error:
            full = self._full(save, error)
            ours = self.attempt("room", lambda: self._give_way(save.path), ()) if full else ()
            if not ours:
                raise
        short.ours = ours
        return disk_space.in_place(save.path, save.write_in_place, put_back)

    def _give_way(self, near: Path) -> tuple[str, ...]:
        return tuple(name for name, give_way in self.ours.items() if give_way(near))

    def _drafted(self, save: Save) -> Any:
        try:
            # Under the name that the script gave, which torch writes into the file: a link's, not its target's.
            draft = Draft(save.path, Path(save.given).name)
        except OSError as error:
            if no_room(error):
                raise
            return save.write_in_place()  # a folder that cannot be written to may still hold a file that can
        try:
            result = save.write(draft.path)
            if draft.path.exists():
                self._reread(save, draft)
                if not self.settled(save, draft):
                    result = save.write_in_place()
        finally:
            draft.discard()
        return result

    def _reread(self, save: Save, draft: Draft) -> None:
        damage = self.checked(save, draft.path)
        if not damage:
            return
        remove_draft(draft.path)
        save.write(draft.path)
        if again := self.checked(save, draft.path):
            self.damaged(save, again)
            raise OSError(errno.EIO, f"what was written does not read back: {again}", save.given)

    def checked(self, save: Save, path: Path) -> str:
        if not save.looked.checkpoint and save.looked.bytes < 1 << 20:
            return ""
        return str(self.attempt("read back", lambda: save.check(path), ""))

    def settled(self, save: Save, draft: Draft) -> bool:
        """False when it could not be put in its place, for a reason that need not stop a plain save."""
        try:
            self._settle(save, draft)
        except OSError as error:
            if error.errno in _SERIOUS:
                raise
            self.session.fault("publish", error)
            return False
        except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the script its file
            self.session.fault("publish", error)
            return False
        return True

    def _settle(self, save: Save, draft: Draft) -> None:
        """Publish the draft, or put it where it can do no harm."""
        poisoned, step = save.looked.poisoned, self.session.step
        with self.shelf.lock:
            if poisoned and self.shelf.good_at(draft.final):
                if (
                    draft.final not in self.shelf.diverted
                ):  # the script may remove what it takes for a broken file
                    self.attempt("keep", lambda: self.shelf.keep(draft.final))
                try:
                    place = self.shelf.divert(draft.path, draft.final, step, poisoned)
                except OSError as error:
                    self.session.fault("quarantine", error)
                else:
                    self.judge(save, quarantined=str(place))
                    return
            had_good = self.shelf.good_at(draft.final)
            if save.looked.checkpoint:
                self.attempt("keep", lambda: self.shelf.keep(draft.final))
            draft.publish(durable=self._durable(save))
            self.shelf.published(draft.final, step, poisoned)
        if save.looked.checkpoint:
            self.attempt("print", lambda: self._take_prints(save))
        self.judge(save, overwrote=had_good)
        self._send_later(save)
        if draft.final.parent not in self._swept:
            self._swept.add(draft.final.parent)
            sweep(draft.final.parent)

    def _take_prints(self, save: Save) -> None:
        """Opened here: the script may rename it at once."""
        if shutil.disk_usage(self.home).free < SPARE:
            return
        for path in save.unsigned():
            self.shelf.clerk.have_done(
                functools.partial(foreign_checksums.take, path.open("rb", buffering=0), self.home)
            )

    def _durable(self, save: Save) -> bool:
        """A script that saves ten thousand small tensors must not wait for the disk ten thousand times."""
        now = time.monotonic()
        if not save.looked.checkpoint and now - self._synced < _SYNC_EVERY:
            return False
        self._synced = now
        return True

    # --- between two steps -------------------------------------------------------------------

    def settle(self) -> None:
        """Say what other threads have seen, and send what was saved on its way."""
        while self._events:
            self.session.emit(self._events.popleft())
        while self._by_hand:
            _, save = self._by_hand.popitem()
            self.attempt("keep", functools.partial(self._keep_by_hand, save))
        if self.sending is not None:
            self.attempt("mirror", self.sending.send_waiting)

    def _keep_by_hand(self, save: Save) -> None:
        """By now it is closed; a copy of it is there when the next one is torn."""
        if not save.path.is_file() or save.check(save.path):
            return
        if self.changes:
            self.shelf.known[save.path] = self.session.step
            self.shelf.keep(save.path, copy=True)
        if self.sending is not None:
            self.sending.later(save.path, self.session.step, copy=True)

    # --- saying things -------------------------------------------------------------------------

    def look(self, thing: Any) -> Looked:
        looked: Looked = self.attempt("look", lambda: self.saved.look(thing), UNKNOWN)
        return looked

    def _send_later(self, save: Save) -> None:
        if self.sending is not None and save.looked.checkpoint and not save.looked.poisoned:
            self.sending.later(save.path, self.session.step)

    def damaged(self, save: Save, problem: str) -> None:
        self._emit(save, SaveChecked(path=save.given, damaged=problem))

    def judge(self, save: Save, *, quarantined: str = "", overwrote: bool = False) -> None:
        self._emit(
            save,
            SaveChecked(
                path=save.given,
                poisoned=save.looked.poisoned,
                weights=save.looked.weights,
                buffers=save.looked.buffers,
                quarantined=quarantined,
                overwrote=overwrote,
            ),
        )

    def _emit(self, save: Save, event: Event) -> None:
        event.step, event.at = self.session.step, save.looked.at
        if self._in_the_run():
            self.attempt("saved", lambda: self.session.emit(event))
        else:
            self._events.append(event)

    def _report_saved(self, save: Save) -> None:
        if self._in_the_run():
            self.attempt("saved", lambda: self.saved.told(save.thing, save.given))
            for listener in self.met if save.looked.checkpoint else ():
                self.attempt("saved", functools.partial(listener, save.path))

    def attempt(self, unit: str, call: Callable[[], Any], default: Any = None) -> Any:
        """Never fatal. The session's own guard is for the run's own thread alone."""
        if self._in_the_run() and not self.session.looking:
            with self.session.looking_at(unit):
                return call()
            return default
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.session.fault(unit, error)
        return default

    def _in_the_run(self) -> bool:
        return threading.get_ident() == self.session.thread

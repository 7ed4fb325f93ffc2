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
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.actions import room
from premortem.actions.jointly import Jointly
from premortem.actions.keep import whose_turn
from premortem.actions.save import Save, one_line, remove_draft
from premortem.events import Event, RoomShort, SaveChecked
from premortem.vault import prints
from premortem.vault.atomic import Draft, no_room, sweep
from premortem.vault.looked import UNKNOWN, Looked
from premortem.vault.shelf import Shelf

if TYPE_CHECKING:
    from premortem.actions.sending import Sending
    from premortem.probes import Attachment

_SERIOUS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS}  # a plain save would meet the same
_SYNC_EVERY = 1.0  # seconds between two waits for the disk, for files that are no checkpoints


class Saving:
    """Stands in for the libraries' functions that save; `doors.py` leads the calls here."""

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
        self._local = threading.local()
        self._by_hand: dict[Path, Save] = {}  # written through a file object that may not be closed yet
        self._events: deque[Event] = deque()  # of other threads, until the run's own one comes by
        self._swept: set[Path] = set()
        self._synced = 0.0

    def active(self) -> bool:
        """Whether a call is the script's own: not premortem's, not inside another save, not in a forked child."""
        return self.session.on and not self.session.looking and not getattr(self._local, "inside", False)

    def save(self, save: Save) -> Any:
        """Returns what `save.write` returns, and raises what it raises."""
        self._local.inside = True
        began = time.monotonic()
        try:
            save.looked = self.look(save.thing)
            result = self._careful(save) if self.changes else self._plain(save)
        finally:
            self._local.inside = False
        if save.looked.checkpoint:
            self.seconds = time.monotonic() - began
        self._tell_saved(save)
        return result

    def save_jointly(self, save: Save, group: Any, *, possible: bool) -> Any:
        """Likewise, of a save that every rank of a group is making now."""
        self._local.inside = True
        try:
            result = Jointly(self).save(save, group, possible=possible)
        finally:
            self._local.inside = False
        if whose_turn():
            self._tell_saved(save)
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
        result = save.write(save.path)
        self.shelf.published(save.path, self.session.step, save.looked.poisoned)
        self.judge(save, overwrote=had_good)
        self._send_later(save)
        return result

    def _careful(self, save: Save) -> Any:
        try:
            return self._drafted(save)
        except Exception as error:
            if not self._full(save, error):
                raise
            full = error
        given_up = self.shelf.make_room(save.path)
        if given_up:
            try:
                result = self._drafted(save)
            except Exception as error:
                if not self._full(save, error):
                    raise
                full = error
            else:
                self._tell(save, RoomShort(path=save.given, given_up=given_up, in_place=False))
                return result
        good = bool(save.looked.poisoned) and self.shelf.good_at(save.path)
        if not good and room.fits_in_place(save.path, self.attempt("room", save.measure)):
            result = room.in_place(save.path, save.write, self.shelf.folder)
            self.shelf.published(save.path, self.session.step, save.looked.poisoned)
            self._tell(save, RoomShort(path=save.given, given_up=given_up, in_place=True))
            return result
        failed = one_line(full)
        self._tell(save, RoomShort(path=save.given, given_up=given_up, in_place=False, failed=failed))
        raise full

    def _full(self, save: Save, error: Exception) -> bool:
        return room.is_full(save.path.parent, error, save.looked.bytes)

    def _drafted(self, save: Save) -> Any:
        try:
            # Under the name that the script gave, which torch writes into the file: a link's, not its target's.
            draft = Draft(save.path, Path(save.given).name)
        except OSError as error:
            if no_room(error):
                raise
            return save.write(save.path)  # a folder that cannot be written to may still hold a file that can
        try:
            result = save.write(draft.path)
            if draft.path.exists():
                self._reread(save, draft)
                if not self.settled(save, draft):
                    result = save.write(save.path)
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
        for path in save.unsigned():
            self.shelf.clerk.have_done(
                functools.partial(prints.take, path.open("rb", buffering=0), self.home)
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
        self._tell(save, SaveChecked(path=save.given, damaged=problem))

    def judge(self, save: Save, *, quarantined: str = "", overwrote: bool = False) -> None:
        self._tell(
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

    def _tell(self, save: Save, event: Event) -> None:
        event.step, event.at = self.session.step, save.looked.at
        if self._in_the_run():
            self.attempt("saved", lambda: self.session.emit(event))
        else:
            self._events.append(event)

    def _tell_saved(self, save: Save) -> None:
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

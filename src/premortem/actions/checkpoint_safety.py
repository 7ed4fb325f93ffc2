"""All that a run does about its checkpoints, joined: the script's own saves, the mirror, the time that is left.

every save of the script      saving.py, through doors.py
every load of the script      loading.py, through doors.py
the first step                with a mirror or a deadline: one save of ours, timed, so that both are known to work
every step                    what was saved is sent; is there time for another step?
a signal                      one save of ours, where weights and optimizer agree; then the mirror is flushed
the end                       the mirror is flushed
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.actions.keep import NAME, is_sharded, keep, whose_turn
from premortem.actions.loading import Loading
from premortem.actions.mirror_sending import Sending
from premortem.actions.save_calls import Doors
from premortem.actions.saving import Saving
from premortem.errors import VaultError
from premortem.events import DeadlineMet, MirrorSeen, StorageSeen
from premortem.vault.kept_versions import Shelf
from premortem.vault.storage import Storage, judge, nothing_lasts

if TYPE_CHECKING:
    from premortem.probes import Attachment
    from premortem.vault.deadline import Deadline
    from premortem.vault.mirror import Mirror

_SPARE = 15.0  # seconds that are left over when all went as measured, mirror and all
_SHORTEST_SPARE = 5.0  # ... where there is no mirror: the run's own page has to be written too
_LONGEST_GAP = (
    900.0  # seconds between two steps that are planned for: an evaluation, not a whole other training
)
_PATIENCE = 60.0  # seconds for which a mirror that only fails is waited for ...
_NO_ANSWER = 20.0  # ... and one that has never answered: it is not there
_WORTH_A_REMARK = 600.0  # seconds of training; before that, a folder that may be lost is not reported
_LOOK_EVERY = 1.0  # seconds between two looks at the room that is left
_TROUBLE = 3  # attempts in a row after which a mirror is reported as failing


class Safekeeping:
    def __init__(
        self,
        attachment: Attachment,
        folder: Path,
        *,
        mirror: Mirror | None,
        deadline: Deadline | None,
        changes: bool,
        settle: Callable[[], None],
        say: Callable[[str], None],
        have_done: Callable[[Callable[[], None]], bool],
    ) -> None:
        self.attachment = attachment
        self.session = attachment.session
        self.folder = folder
        self.mirror = mirror
        self.deadline = deadline
        self._settle = settle  # a policy may end the run here
        self._say = say
        self._have_done = have_done  # in the run's own thread, between two bytecodes
        shelf = Shelf(folder)
        self.sending = Sending(mirror, shelf, copy=not changes) if mirror is not None else None
        self.saving = Saving(attachment, shelf, self.sending, changes=changes, home=Path.cwd())
        self.loading = Loading(self.saving)
        self.saving.met.append(self._met)
        self.doors = Doors(self.session, self.saving, self.loading)
        self.scripts: Path | None = None  # the script's own last checkpoint
        self.saved_at: int | None = None  # the step of our last save
        self._seconds = 0.0  # ... and how long it took
        self._last, self._gap = time.monotonic(), 0.0
        self._looked = time.monotonic()  # at the room that is left
        self._judged: set[Path] = set()
        self._doubtful: tuple[Path, Storage] | None = None  # saved there, and it may not last
        self._began = time.monotonic()
        self._failing = False
        self._over = False
        self._due = False  # the time is over, and no step has ended that could have noticed
        self._closed = threading.Event()
        self._impatient = False

    def install(self) -> None:
        self.doors.install()
        self.attachment.optimizers.after_step.append(self.stepped)
        if self.deadline is not None:
            threading.Thread(
                target=self._watch_the_clock, args=(self.deadline,), name="premortem-clock", daemon=True
            ).start()

    # --- between two steps ---------------------------------------------------------------------

    @property
    def saves(self) -> bool:
        """Whether a save of ours is wanted when a signal comes: not under the policy `observe`."""
        return self.saving.changes or self.mirror is not None or self.deadline is not None

    @property
    def kept(self) -> Path | None:
        """The state that premortem saved, in this run."""
        path = self.folder / NAME
        return path if path.exists() else None

    @property
    def patience(self) -> float:
        """Seconds in which a step surely ends; services that end a run rarely wait longer than half a minute."""
        return min(20.0, 2.0 * self._gap)

    @property
    def busy(self) -> bool:
        """An optimizer is changing the weights right now."""
        return self.attachment.optimizers.inside is not None

    def stepped(self, optimizer: Any, track: Any, step: int) -> None:
        try:
            self._between(step)
        except Exception as error:  # noqa: BLE001 - nothing here is worth the run
            self.session.fault("safekeeping", error)
        if self._over:
            self._settle()

    def _between(self, step: int) -> None:
        now = time.monotonic()
        if step > 3:  # before that there is compiling, and warming up
            self._gap = min(max(self._gap, now - self._last), _LONGEST_GAP)
        self._last = now
        self._mind_the_room(now)
        self.saving.settle()
        self.loading.settle()
        if step == 1 and not self.mirror and (storage := nothing_lasts()):
            self._report_storage(Path.cwd(), storage)
        if self._doubtful is not None and now - self._began > _WORTH_A_REMARK:
            self._report_storage(*self._doubtful)
            self._doubtful = None
        if self.saved_at is None and (self.mirror or self.deadline):
            self.saved_at = step
            self._save(step)
        if self.mirror is not None:
            self._look_at_mirror()
        if self.deadline is not None and not self._over:
            self._mind_the_time(step, self.deadline)

    def _mind_the_room(self, now: float) -> None:
        if now - self._looked > _LOOK_EVERY:
            self._looked = now
            self.saving.shelf.mind_the_room()

    def save_now(self) -> Path | None:
        """From a signal's handler: what was trained so far, if that is not saved yet."""
        step = self.session.step
        if not step or self.saved_at == step:
            return None
        with self.session.looking_at("keep"):
            return self._save(step)
        return None

    def _save(self, step: int) -> Path | None:
        """Our own save of models, optimizers, schedulers and scaler. A failure is reported, never raised."""
        began = time.monotonic()
        if not whose_turn():
            return None
        try:
            if is_sharded(self.attachment.in_training()[0]):
                raise VaultError("the model is spread over several processes")  # noqa: TRY301 - reported like the rest
            path = keep(self.folder, step, self.attachment.training_state())
            self.saved_at, self._seconds = step, time.monotonic() - began
            if self.sending is not None:
                self.sending.send(path, step, group=path.name)
        except Exception as error:  # noqa: BLE001 - the disk, the mirror, a state that cannot be pickled
            self.session.fault("keep", error)
            self._say(f"the state of the training could not be saved ({error})")
            return None
        return path

    # --- the time that is left -------------------------------------------------------------------

    @property
    def _needed(self) -> float:
        """Seconds for a save and the mirror, as measured, and half as much again."""
        mirror = self.mirror.seconds if self.mirror is not None else 0.0
        return 1.5 * (max(self._seconds, self.saving.seconds) + mirror)

    @property
    def _spare(self) -> float:
        """A network has bad minutes. A disk that took a tenth of a second will not take fifteen."""
        if self.mirror is not None:
            return _SPARE
        return min(_SPARE, max(_SHORTEST_SPARE, 2.0 * max(self._seconds, self.saving.seconds)))

    def _mind_the_time(self, step: int, deadline: Deadline) -> None:
        left = deadline.at - time.time()
        needed = self._needed + self._gap + self._spare
        if left > needed and not self._due:
            return
        self._over = True
        path = self._save(step)
        mirrored = self.flush(max(1.0, deadline.at - time.time() - 2.0)) if self.mirror is not None else None
        self.session.emit(
            DeadlineMet(step=step, left=left, needed=needed, path=str(path or ""), mirrored=mirrored)
        )

    def _watch_the_clock(self, deadline: Deadline) -> None:
        """In a thread of its own: an evaluation may be longer than all the time that is left."""
        while not self._over:
            left = deadline.at - time.time() - self._needed - self._spare / 2
            if left <= 0:
                self._due = True  # an optimizer that is stepping notices at the end of its step
                self._have_done(self._overdue)
                return
            if self._closed.wait(min(left, 5.0)):
                return

    def _overdue(self) -> None:
        if self._over or self.busy or self.deadline is None or not self.session.step:
            return
        with self.session.looking_at("deadline"):
            self._mind_the_time(self.session.step, self.deadline)
        self._settle()

    # --- where it is saved -----------------------------------------------------------------------

    def _met(self, path: Path) -> None:
        """A checkpoint was saved there."""
        self.scripts = path
        folder = path.parent
        if folder not in self._judged and not self.mirror:
            self._judged.add(folder)
            storage = judge(folder)
            if storage is not None and storage.certain:
                self._report_storage(folder, storage)
            elif storage is not None:
                self._doubtful = (folder, storage)

    def _report_storage(self, folder: Path, storage: Storage) -> None:
        self.session.emit(
            StorageSeen(
                step=self.session.step,
                path=str(folder),
                kind=storage.kind,
                certain=storage.certain,
                mirrored=self.mirror is not None,
            )
        )

    # --- the mirror ------------------------------------------------------------------------------

    def _look_at_mirror(self) -> None:
        if self.mirror is None:
            return
        failures = self.mirror.failures
        if failures >= _TROUBLE and not self._failing:
            self._report_mirror(ended=False)
        self._failing = failures >= _TROUBLE

    def flush(self, seconds: float) -> bool:
        """Wait for the mirror; not for one that only fails."""
        if self.mirror is None:
            return True
        began = time.monotonic()
        announced = False
        while not self._flushed(min(1.0, seconds)):
            waited = time.monotonic() - began
            failing = self.mirror.failures and waited > _PATIENCE
            silent = not self.mirror.remote.answered and waited > _NO_ANSWER
            if waited > seconds or self._impatient or failing or silent:
                return False
            if not announced and waited > 2.0:
                announced = True
                self._say(f"waiting for the mirror {self.mirror.remote.shown}")
        return True

    def _flushed(self, seconds: float) -> bool:
        try:
            return self.mirror is None or self.mirror.flush(seconds)
        except KeyboardInterrupt:  # whoever waits has waited enough; what is left is sent by the next run
            self._impatient = True
            return False

    def close(self, seconds: float) -> None:
        """The run is over."""
        self.saving.settle()
        self.loading.finish(seconds)
        self.saving.shelf.clerk.wait(min(10.0, seconds))
        if self.mirror is None:
            return
        if not self.flush(seconds):
            self._report_mirror(ended=True)
            self._say(self._unsent(self.mirror))
        self.mirror.close()

    def _unsent(self, mirror: Mirror) -> str:
        status = mirror.status()
        what = "1 checkpoint was" if status.pending == 1 else f"{status.pending} checkpoints were"
        why = status.problem or (
            "there was not enough time" if mirror.remote.answered else "it does not answer"
        )
        return (
            f"{what} not sent to the mirror {mirror.remote.shown} ({why}); what it lacks waits in {mirror.spool}, "
            "and the next run with the same --mirror sends it"
        )

    def remove(self) -> None:
        self._closed.set()
        self.doors.remove()

    def _report_mirror(self, *, ended: bool) -> None:
        if self.mirror is None:
            return
        status = self.mirror.status()
        since = status.waiting_since
        self.session.emit(
            MirrorSeen(
                step=self.session.step,
                url=self.mirror.remote.shown,
                pending=status.pending,
                failures=status.failures,
                problem=status.problem,
                minutes=(time.time() - since) / 60 if since is not None else 0.0,
                ended=ended,
            )
        )

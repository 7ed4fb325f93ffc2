"""premortem.Vault: checkpoints that cannot be lost, torn or poisoned.

    vault = premortem.Vault("runs/vault", keep=3, best="val_psnr:max", mirror="s3://bucket/run")
    report = vault.resume(model=model, optimizer=optimizer, scheduler=scheduler, loader=loader)
    for step in range(report.start, steps):
        …
        if step % 1000 == 0:
            vault.save(step, model=model, optimizer=optimizer, scheduler=scheduler, loader=loader, metrics=metrics)
    vault.close()

    training thread   save: copy the state into host memory ─┐ then train on
    writer thread                                            └► look at the numbers ─► write, hash ─► read back ─► rename
    mirror thread                                                                                   └► upload, read back

An error of the disk never ends a training: it is printed on stderr, `Saving.wait` raises it, and the last good checkpoint
stays. Under torch.distributed the first rank writes, and all ranks resume from the same checkpoint (agreement.py). Of sharded
models (FSDP2) every rank writes its pieces (joint.py). With `each_rank=True` every rank calls `save` and adds what is its
own: random states, its loader, `own=` (parts.py).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import time
import weakref
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from premortem.errors import UsageError, VaultError
from premortem.vault import (
    opening,
    parts,
    rank_shares,
    sharded_resume,
    sharded_saving,
    store,
    surroundings,
    training_objects,
)
from premortem.vault.agreement import agreed, assembled
from premortem.vault.archive import SPOOL, Archive, say
from premortem.vault.atomic import in_one_sentence
from premortem.vault.fetching import fetch_newest
from premortem.vault.garbage import uncollected
from premortem.vault.manifest import Manifest
from premortem.vault.mirror import Mirror
from premortem.vault.opening import checkpoints
from premortem.vault.parts import Parts
from premortem.vault.publishing import publish
from premortem.vault.report import ResumeReport
from premortem.vault.resume import finish
from premortem.vault.resume_plan import Resumption, Settings
from premortem.vault.resume_source import OurSaved
from premortem.vault.retention import Best, Kept, Retention
from premortem.vault.saving import Saving
from premortem.vault.snapshot import Camera, Snapshot
from premortem.vault.state_parts import described, looked_at, taken_apart

_LAST_CHANCE = 600.0  # seconds that a process waits for its mirror when it ends


class Vault:
    """A folder of checkpoints. `keep` is how many of the newest, or a Retention."""

    def __init__(
        self,
        folder: str | Path,
        *,
        keep: int | Retention = 3,
        best: str | None = None,
        mirror: str | None = None,
        asynchronous: bool = True,
        config: Any = None,
        each_rank: bool = False,
    ) -> None:
        store.check_installed()
        self.folder = Path(folder).expanduser()
        with in_one_sentence(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._config = surroundings.flat_config(config) if config is not None else {}
        self._given_config = config
        self._url = mirror
        first = training_objects.rank() == 0
        self._mirror = Mirror(mirror, self.folder / SPOOL) if mirror is not None and first else None
        retention = keep if isinstance(keep, Retention) else Retention(newest=keep)
        self._archive = Archive(self.folder, retention, Best.parse(best) if best else None, self._mirror)
        self._asynchronous = asynchronous
        self._parts = Parts(self.folder) if each_rank and training_objects.processes() > 1 else None
        self._camera = Camera()
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None
        self._pid = os.getpid()
        self._printed: set[str] = set()
        self._checked: dict[int, weakref.ref[Any]] = {}  # pieces that may be saved as they were given
        if self._mirror is not None:
            atexit.register(self._last_chance)

    def save(
        self,
        step: int,
        *,
        model: Any = None,
        optimizer: Any = None,
        scheduler: Any = None,
        scaler: Any = None,
        ema: Any = None,
        loader: Any = None,
        metrics: Mapping[str, Any] | None = None,
        companions: Mapping[str, Any] | None = None,
        extra: Any = None,
        **more: Any,
    ) -> Saving:
        """Save everything that is given. Returns as soon as training may go on."""
        began = time.perf_counter()
        if step < 0:
            raise UsageError(f"save({step!r}, …): a step is 0 or larger")
        saving = Saving(int(step))
        given = training_objects.expand(
            {"model": model, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler, "ema": ema}
            | {"loader": loader, **more}
        )
        self._refuse_shares(given)
        if sharded_saving.is_sharded(given):
            manifest = described(saving.step, given, self._config, metrics, companions)
            self._save_jointly(saving, given, extra, manifest)
            saving.stalled = time.perf_counter() - began
            return saving
        rank = training_objects.rank()
        if rank != 0 and self._parts is None:
            saving.finish(None)
            return saving
        if not given:
            raise UsageError("save() got nothing to save; pass the model at least: save(step, model=model)")
        if rank != 0:
            given, extra = {name: each for name, each in given.items() if parts.is_own(name, each)}, None
        self.wait()  # the memory of the last snapshot is free when its files are written
        manifest = described(saving.step, given, self._config, metrics, companions)
        with uncollected():
            trees, tensors = taken_apart(given, extra, manifest, each_rank=self._parts is not None)
            trees, tensors = parts.named(rank, trees, tensors, manifest)
            snapshot = self._camera.take(tensors)
        self._complain(manifest)
        work = (saving, snapshot, trees, manifest, self._parts.number() if self._parts else "")
        if self._asynchronous:
            if self._writer is None or self._pid != os.getpid():  # threads do not survive a fork
                # One thread that stays: starting one means waiting for it.
                self._writer = ThreadPoolExecutor(1, thread_name_prefix="premortem-vault")
                self._pid = os.getpid()
            self._writing = self._writer.submit(self._write, *work)
        else:
            self._write(*work)
        saving.stalled = time.perf_counter() - began
        return saving

    def resume(
        self,
        *,
        model: Any = None,
        optimizer: Any = None,
        scheduler: Any = None,
        scaler: Any = None,
        ema: Any = None,
        loader: Any = None,
        companions: Mapping[str, Any] | None = None,
        at: int | str | None = None,
        strict: bool = True,
        settings: Settings = "checkpoint",
        rng: bool = True,
        quiet: bool = False,
        **more: Any,
    ) -> ResumeReport:
        """Load the newest checkpoint that is whole (or the one `at` a step, or at "best"), after comparing it.

        Raises ResumeRefused, before anything is changed, when it does not fit."""
        self.wait()
        given = training_objects.expand(
            {"model": model, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler, "ema": ema}
            | {"loader": loader, **more}
        )
        self._refuse_shares(given)
        together = sharded_saving.is_sharded(given)
        if together:
            assembled("resume", say)
        newest_whole = sharded_resume.newest_whole if together else opening.newest_whole
        found = self._candidates(at)
        saved, damaged = newest_whole(found)
        fetched = self._fetched(saved, at)
        if fetched or (self._url is not None and training_objects.processes() > 1):
            found = self._candidates(at)
            saved, damaged = newest_whole(found)
        if not together:  # else the ranks have looked at it as one
            saved, damaged = agreed(found, (saved, damaged), rank_shares.shapes(given), say)
        if saved is None:
            report = ResumeReport()
            for sentence in fetched:
                report.add("note", "mirror", f"{sentence}.")
            for sentence in damaged:
                report.add("warning", "checkpoint", f"{sentence}.")
            if at is not None:
                raise VaultError(
                    f"there is no complete checkpoint at {at!r} in {self.folder}. {' '.join(damaged)}"
                )
            if not quiet:
                report.show()
            return report
        sharded = {name: given[name] for name in saved.sharded if name in given}
        rest = {name: each for name, each in given.items() if name not in sharded}
        resumption = Resumption(saved, rest, settings=settings)
        if sharded:
            sharded_resume.compare(resumption, sharded, script_wins=settings == "script")
        for sentence in damaged:
            resumption.report.add("warning", "checkpoint", f"{sentence}. An older one is used.")
        for sentence in fetched:
            resumption.report.add("note", "mirror", f"{sentence}.")
        resumption.compare(config=self._given_config, companions=companions, rng=rng)
        report = finish(resumption, load=True, strict=strict, quiet=True)
        self._archive.resumed(damaged={each.name for each in found[: len(damaged)]})
        report.epoch = getattr(loader, "epoch", None)
        if not quiet:
            report.show()
        return report

    @property
    def best(self) -> Path | None:
        """The checkpoint with the best metric, finite and healthy."""
        return self._archive.best_path()

    def checkpoints(self) -> list[Kept]:
        """What is there, oldest first."""
        return self._archive.kept()

    def wait(self) -> None:
        """Until the last save is written."""
        if self._writing is not None and self._pid == os.getpid():
            self._writing.result()
            self._writing = None

    def close(self, timeout: float = _LAST_CHANCE) -> bool:
        """Write what is to be written, and wait for the mirror. Returns whether the mirror has everything."""
        self.wait()
        if self._writer is not None:
            self._writer.shutdown()
            self._writer = None
        atexit.unregister(self._last_chance)
        if self._mirror is None:
            return True
        if self._mirror.flush(timeout):
            self._archive.rotate(wait=30.0)
        return self._mirror.close()

    def __enter__(self) -> Vault:  # noqa: PYI034 - Python 3.10 has no Self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- on the training thread ------------------------------------------------------------------

    def _refuse_shares(self, given: Mapping[str, Any]) -> None:
        """Once for the same objects: it may look through all objects of the process. An id may be given again once its object is gone."""
        fresh = {
            name: piece
            for name, piece in given.items()
            if (known := self._checked.get(id(piece))) is None or known() is not piece
        }
        if fresh:
            rank_shares.check(fresh, each_rank=self._parts is not None)
            for piece in fresh.values():
                with contextlib.suppress(TypeError):  # a number or a plain dict, which is quickly looked at
                    self._checked[id(piece)] = weakref.ref(piece)

    def _save_jointly(self, saving: Saving, given: Mapping[str, Any], extra: Any, manifest: Manifest) -> None:
        """All ranks together, while training waits: they talk to each other, which only one thread may do."""
        try:
            place = sharded_saving.save(
                self._archive, self._camera, given, extra, manifest, each_rank=self._parts is not None
            )
        except Exception as error:  # noqa: BLE001 - training goes on, and the caller of `wait` hears it
            if training_objects.rank() == 0:
                say(f"The checkpoint of step {saving.step} was not written: {error}")
            saving.fail(error)
        else:
            saving.finish(place)
        if training_objects.rank() == 0:
            self._complain(manifest)

    def _complain(self, manifest: Manifest) -> None:
        best = self._archive.best
        if best is not None and manifest.metrics and best.metric not in manifest.metrics:
            self._say_once(f"best= looks for `{best.metric}`; the metrics are {', '.join(manifest.metrics)}.")
        for sentence in manifest.left_out:
            self._say_once(f"Not in the checkpoint: {sentence}.")

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._printed:
            self._printed.add(sentence)
            say(sentence)

    def _candidates(self, at: int | str | None) -> list[Path]:
        if at == "best":
            return [each for each in [self.best] if each is not None]
        if isinstance(at, str):
            raise UsageError(f'resume(at="{at}"): give a step, or "best"')
        return checkpoints(self.folder) if at is None else [self._archive.place(at, healthy=True)]

    def _fetched(self, saved: OurSaved | None, at: int | str | None) -> list[str]:
        """What the mirror has and this folder has not. The first process asks; the others wait for it."""
        if self._url is None or at is not None:
            return []
        remarks = []
        if training_objects.rank() == 0:
            newest = saved.manifest.time if saved is not None and saved.manifest is not None else 0.0
            remarks = fetch_newest(self._url, self.folder, after=newest)
        if training_objects.processes() > 1:
            import torch.distributed as dist

            dist.barrier()
        return remarks

    def _last_chance(self) -> None:
        self.wait()
        if self._mirror is not None and not self._mirror.flush(1.0):
            say(
                "The mirror does not have everything yet; waiting for it. Interrupt to leave it to the next run."
            )
            self._mirror.flush(_LAST_CHANCE)

    # --- on the writer thread --------------------------------------------------------------------

    def _write(
        self, saving: Saving, snapshot: Snapshot, trees: dict[str, Any], manifest: Manifest, number: str
    ) -> None:
        place: Path | None = None
        try:
            snapshot.ready()
            manifest.health = looked_at(snapshot)
            manifest.code, manifest.versions = surroundings.code(), surroundings.versions()
            if self._parts is not None and self._parts.rank:
                self._parts.deliver(number, snapshot, trees, manifest)
            else:
                others = self._parts.gather(number, manifest) if self._parts is not None else []
                place = publish(self._archive, snapshot, trees, manifest, others)
        except BaseException as error:  # noqa: BLE001 - whatever it is, training goes on and the caller of `wait` hears it
            say(f"The checkpoint of step {saving.step} was not written: {error}")
            saving.fail(error)
        else:
            saving.finish(place)

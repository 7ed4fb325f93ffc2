"""A copy elsewhere, made in the background, that counts only when it was read back.

    put(best.pt)  ─► spool/000007-…/          hard links, on disk before `put` returns
                       │  a thread, in order
                       ▼
                     upload data ─► read it back ─► upload manifest ─► read it back ─► rotate older ones
                       │ anything goes wrong: again, a little later, for as long as it takes
                       ▼
                     the job's folder is removed

A spool may have come from elsewhere, with a vault or a run that was copied. So a job is only sent when it is nothing but a job
(`spooled.py`): it names files of its own folder, and names below the mirror's address.

The script may overwrite its file meanwhile: a link keeps the bytes that were saved. A process that is killed leaves
its spool, and the next mirror with the same spool goes on with it. What is there without its manifest does not exist:

    URL/RUN/best.pt/000120-1f0c9a3b.pt                  a file ...
    URL/RUN/best.pt/000120-1f0c9a3b.pt.manifest.json    ... and its manifest, last
    URL/RUN/step-120/…, URL/RUN/step-120/manifest.json  a folder of the vault, its own manifest last
"""

import json
import os
import posixpath
import shutil
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from premortem import redaction
from premortem.errors import VaultError
from premortem.files import private
from premortem.files.plain import exact
from premortem.vault.atomic import claim, draft_beside, owner_is_dead, publish_folder, sha256_of, sweep
from premortem.vault.links import link_or_copy
from premortem.vault.manifest import NAME as MANIFEST
from premortem.vault.manifest import FileRecord, Manifest
from premortem.vault.mirror_jobs import NotAJob, sound
from premortem.vault.remote import Remote, first_line
from premortem.vault.time_limits import within

SUFFIX = ".manifest.json"
JOB = "job.json"
_SLOWEST = 128 << 10  # bytes in a second; an upload that is slower is taken for dead
_PATIENCE = 90.0  # seconds that any upload may take


@dataclass(frozen=True)
class MirrorStatus:
    """Where a mirror stands."""

    pending: int
    done: int
    failures: int  # attempts in a row that failed
    problem: str  # the error of the last attempt
    seconds: float  # what the last upload took, from beginning to verified
    waiting_since: float | None  # when the oldest pending job was put


class Mirror:
    """Copies what it is given to `url`, in order, for as long as it takes."""

    def __init__(self, url: str, spool: Path, *, keep: int = 3, patience: float = _PATIENCE) -> None:
        self.remote = Remote(url)
        self.remote.check()
        self.spool = spool
        self._keep = keep
        self._patience = patience
        self._pid = os.getpid()
        self._lock = threading.RLock()  # a signal's handler may come in between
        self._numbers = 0
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._closing = False
        self._current: Path | None = None  # being uploaded
        self._thread: threading.Thread | None = None
        self._done, self._failures, self._problem, self._seconds = 0, 0, "", 0.0
        private.make_folder(spool)
        sweep(spool)
        claim(spool)
        for left in spool.iterdir():
            if left.is_dir() and left.name[0].isdigit() and not (left / JOB).is_file():
                shutil.rmtree(left, ignore_errors=True)  # done, and its process was killed while it tidied up
        if self._jobs():
            self._start()
        else:
            self._idle.set()

    def put(
        self,
        path: Path,
        remote_name: str,
        *,
        group: str = "",
        about: Mapping[str, Any] | None = None,
        copy: bool = False,
    ) -> None:
        """Queue a file, or a folder with a manifest in it. Returns when it is safe from being replaced.

        `about` are fields of the manifest that a single file gets. Of a `group`, the newest few are kept over there.
        `copy` is for files that may be rewritten in place. Raises VaultError or OSError."""
        files = [path] if path.is_file() else [each for each in sorted(path.rglob("*")) if each.is_file()]
        if not files:
            raise VaultError(f"there is nothing at {path} to mirror")
        with self._lock:
            final = self.spool / f"{self._next():06d}-{path.name[:80]}"
        draft = draft_beside(final)
        base = path.parent if path.is_file() else path
        try:
            sums = {}
            for number, file in enumerate(files):
                held = draft / "data" / str(number)
                private.make_folder(held.parent, within=draft)
                link_or_copy(file, held, copy=copy)
                name = file.relative_to(base).as_posix()
                sums[name] = {"held": str(number), "bytes": held.stat().st_size}
            job = {
                "url": self.remote.shown,
                "name": remote_name,
                "single": path.is_file(),
                "files": sums,
                "group": group,
                "about": dict(about or {}),
                "put": time.time(),
            }
            private.write_text(draft / JOB, exact(job, indent=1))
            publish_folder(draft, final)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        if group:
            self._give_up_old(group)
        self._idle.clear()
        self._start()
        self._wake.set()

    def _give_up_old(self, group: str) -> None:
        """A mirror that fails for hours must not fill the disk: of what waits, the newest few are enough."""
        with suppress(OSError, ValueError, KeyError):
            waiting = [job for job in self._jobs() if _read(job)["group"] == group]
            for job in waiting[: -self._keep]:
                if job != self._current:
                    _drop(job)

    def adopt(self, runs: Path) -> int:
        """Take over what other runs, which are dead, could not send to this place. Returns how many."""
        taken = 0
        for spool in sorted(runs.glob("*/mirror")):
            if spool == self.spool or not spool.is_dir() or not owner_is_dead(spool):
                continue
            for job in sorted(path for path in spool.iterdir() if (path / JOB).is_file()):
                with suppress(OSError, ValueError, KeyError):
                    found = _read(job)
                    # Under the name of its own run: it cannot take the place of what others have sent.
                    own = not spool.is_symlink() and str(found["name"]).startswith(f"{spool.parent.name}/")
                    url = redaction.redacted(found["url"]).replace(":***@", f":{redaction.HIDDEN}@")
                    if own and url == self.remote.shown:
                        with self._lock:
                            job.replace(self.spool / f"{self._next():06d}-{job.name.partition('-')[2]}")
                        taken += 1
        if taken:
            self._idle.clear()
            self._start()
            self._wake.set()
        return taken

    def _next(self) -> int:
        self._numbers = max([self._numbers, *(int(job.name.split("-")[0]) for job in self._jobs())]) + 1
        return self._numbers

    def flush(self, timeout: float) -> bool:
        """Wait until all is there and verified. False when that did not happen in time."""
        # The last job is over as soon as it is verified; its thread is idle once its folder is gone as well.
        if self._pid == os.getpid() and (self._jobs() or not self._idle.is_set()):
            self._start()
            self._wake.set()
            return self._idle.wait(timeout)
        return not self._jobs()

    def status(self) -> MirrorStatus:
        jobs = self._jobs()
        since = None
        with suppress(OSError, ValueError, IndexError):
            since = float(_read(jobs[0])["put"])
        return MirrorStatus(len(jobs), self._done, self._failures, self._problem, self._seconds, since)

    @property
    def seconds(self) -> float:
        """What the last upload took, from beginning to verified."""
        return self._seconds

    @property
    def failures(self) -> int:
        """Attempts in a row that failed."""
        return self._failures

    def close(self, timeout: float = 0.0) -> bool:
        """Stop; what is still pending stays in the spool. Returns whether nothing was."""
        done = self.flush(timeout)
        self._closing = True
        self._wake.set()
        if self._thread is not None and self._pid == os.getpid():
            self._thread.join(1.0)
        return done

    # --- the thread ----------------------------------------------------------------------------

    def _jobs(self) -> list[Path]:
        try:
            return sorted(
                path for path in self.spool.iterdir() if (path / JOB).is_file() and path.name[0] != "."
            )
        except OSError:
            return []

    def _start(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._closing = False
                self._thread = threading.Thread(target=self._work, name="premortem-mirror", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while not self._closing:
            jobs = self._jobs()
            if not jobs:
                self._idle.set()
                self._wake.wait(60.0)
            else:
                self._attempt(jobs[0])
                if not self._failures:
                    continue
                self._wake.wait(min(60.0, 0.5 * 2 ** min(self._failures, 7)))
            self._wake.clear()

    def _attempt(self, folder: Path) -> None:
        self._current = folder
        began = time.monotonic()
        try:
            job = _hashed(folder)
            size = sum(int(file["bytes"]) for file in job["files"].values())
            within(self._patience + size / _SLOWEST, lambda: self._upload(folder, job))
        except NotAJob as error:  # nothing of it is sent, and it does not hold up the others
            self._refuse(folder, error)
            return
        except Exception as error:  # noqa: BLE001 - the network, the server, the disk, the library: try again later
            self._failures += 1
            self._problem = first_line(error)
            self.remote.forget()
            return
        self._failures, self._problem = 0, ""
        self._done += 1
        self._seconds = time.monotonic() - began
        _drop(folder)
        with suppress(Exception):  # an extra old copy does no harm
            self._rotate(job)

    def _refuse(self, folder: Path, error: NotAJob) -> None:
        self._problem = first_line(error)
        try:
            (folder / JOB).replace(folder / "refused.json")
        except OSError:
            self._failures += 1

    def _upload(self, folder: Path, job: dict[str, Any]) -> None:
        name = job["name"]
        files = sorted(job["files"].items(), key=lambda item: item[0] == MANIFEST)
        if job["single"]:
            [(_, file)] = files
            self.remote.put(folder / "data" / file["held"], name, file["sha256"])
            record = {posixpath.basename(name): FileRecord(file["sha256"], int(file["bytes"]))}
            manifest = Manifest(kind="kept", files=record, **job["about"])
            self.remote.write(name + SUFFIX, manifest.render())
            return
        for path, file in files:
            self.remote.put(folder / "data" / file["held"], f"{name}/{path}", file["sha256"])

    def _rotate(self, job: dict[str, Any]) -> None:
        """Only now, when the new one was read back, may an old one go. Its manifest goes first."""
        if not job["group"]:
            return
        ledger = self.spool / "verified.json"
        known: dict[str, list[dict[str, Any]]] = {}
        with suppress(OSError, ValueError):
            known = json.loads(ledger.read_text(encoding="utf-8"))
        entry = {"name": job["name"], "files": list(job["files"]), "single": job["single"]}
        kept = [old for old in known.get(job["group"], []) if old["name"] != job["name"]] + [entry]
        for old in kept[: -self._keep]:
            names = [old["name"]] if old["single"] else [f"{old['name']}/{path}" for path in old["files"]]
            manifest = old["name"] + (SUFFIX if old["single"] else f"/{MANIFEST}")
            for name in [manifest, *(name for name in names if name != manifest)]:
                self.remote.remove(name)
        known[job["group"]] = kept[-self._keep :]
        private.write_text(ledger, exact(known))


def _drop(folder: Path) -> None:
    """Remove job.json first: a job whose data is gone could never be finished, and would hold up the others."""
    with suppress(OSError):
        (folder / JOB).unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _read(folder: Path) -> dict[str, Any]:
    """Raises OSError, ValueError, and NotAJob, which is one."""
    return sound(folder, json.loads((folder / JOB).read_text(encoding="utf-8")))


def _hashed(folder: Path) -> dict[str, Any]:
    """The job with its checksums, which are computed on this thread, not on the training thread."""
    job = _read(folder)
    for file in job["files"].values():
        file["sha256"] = sha256_of(folder / "data" / file["held"])
    return job

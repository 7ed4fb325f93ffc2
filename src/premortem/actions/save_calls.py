"""The ways in which scripts save and load their checkpoints; each leads to `saving.py` or `loading.py`.

torch.save and torch.load, safetensors, torch.distributed.checkpoint, and Lightning, which writes through fsspec.
"""

from __future__ import annotations

import functools
import io
import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from premortem.actions.disk_space import Counting
from premortem.actions.file_moves import Moves
from premortem.actions.keep import whose_turn
from premortem.actions.loading import Loading
from premortem.actions.read_back import of_folder, of_safetensors, of_torch
from premortem.actions.save import Save, real
from premortem.actions.saving import Saving
from premortem.startup.import_hook import ImportHook

if TYPE_CHECKING:
    from premortem.probes.session import Session

_STATE_DICT = "torch.distributed.checkpoint.state_dict"
_LIGHTNING = ("lightning.fabric.utilities.cloud_io", "lightning_fabric.utilities.cloud_io")


class _Group(NamedTuple):
    """The ranks that make a save together, and whether this one could write a draft."""

    ranks: Any
    possible: bool


class Doors:
    """Put in place in a run; the session takes them away with everything else."""

    def __init__(self, session: Session, saving: Saving, loading: Loading) -> None:
        self.session = session
        self.saving = saving
        self.loading = loading
        self.shelf = saving.shelf
        self._hooks: list[ImportHook] = []

    def install(self) -> None:
        patch = self.session.patch
        patch(torch, "save", self._torch_save)
        self._when("safetensors.torch", lambda module: patch(module, "save_file", self._safetensors_save))
        self._when("torch.distributed.checkpoint", lambda module: patch(module, "save", self._dcp_save))
        self._when(_STATE_DICT, self._quiet_first_step)
        for name in _LIGHTNING:
            self._when(name, lambda module: patch(module, "_atomic_save", self._lightning_save))
        patch(torch, "load", self._torch_load)
        self._when("safetensors.torch", lambda module: patch(module, "load_file", self._safetensors_load))
        self._when("torch.distributed.checkpoint", lambda module: patch(module, "load", self._dcp_load))
        if self.saving.changes:
            Moves(self.session, self.saving).install()

    def remove(self) -> None:
        for hook in self._hooks:
            hook.leave()

    def _when(self, name: str, then: Callable[[Any], Any]) -> None:
        """Now, if it was imported; else in the moment it is."""

        def arrived() -> None:
            if self.session.on:
                with self.session.looking_at(name):
                    then(sys.modules[name])

        hook = ImportHook(name, arrived)
        self._hooks.append(hook)
        hook.wait()

    # --- saving --------------------------------------------------------------------------------

    def _torch_save(self, original: Any) -> Any:
        def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
            path = self._target(f)
            if path is None:
                result = original(obj, f, *args, **kwargs)
                self._by_hand(obj, f)
                return result

            def measure() -> int:
                counting = Counting()
                original(obj, counting, *args, **kwargs)
                return counting.bytes

            def write(to: Path) -> Any:
                return original(obj, str(to), *args, **kwargs)

            prints = () if _has_checksums(kwargs) else ("*",)
            return self._save(obj, path, f, write, of_torch, measure, prints)

        return save

    def _by_hand(self, obj: Any, f: Any) -> None:
        name = getattr(f, "name", None)
        if isinstance(f, io.BufferedIOBase) and isinstance(name, str) and self.saving.active():
            if self.session.listening() and (path := self._target(name)) is not None:
                self.saving.written_by_hand(Save(obj, path, name, lambda _to: None, of_torch, lambda: None))

    def _safetensors_save(self, original: Any) -> Any:
        def save_file(tensors: Any, filename: Any, *args: Any, **kwargs: Any) -> Any:
            path = self._target(filename)
            if path is None:
                return original(tensors, filename, *args, **kwargs)
            check = functools.partial(of_safetensors, tensors)

            def write(to: Path) -> Any:
                return original(tensors, str(to), *args, **kwargs)

            return self._save(tensors, path, filename, write, check, prints=("*",))

        return save_file

    def _dcp_save(self, original: Any) -> Any:
        def save(state_dict: Any, *args: Any, checkpoint_id: Any = None, **kwargs: Any) -> Any:
            alone = kwargs.get("no_dist") or not _many()
            ours = not _writer(args, kwargs)
            path = self._target(checkpoint_id, folder=True) if ours else None
            asks = ours and not alone and kwargs.get("use_collectives", True)
            jointly = asks and self._is_path(checkpoint_id)
            if not jointly and (path is None or not alone):
                return original(state_dict, *args, checkpoint_id=checkpoint_id, **kwargs)
            possible, path = path is not None, path or real(checkpoint_id)
            state_dict = _taken(state_dict)

            def write(to: Path) -> Any:
                result = original(state_dict, *args, checkpoint_id=to, **kwargs)
                if path.is_dir() and to.is_dir() and whose_turn() and not path.samefile(to):
                    _take_along(path, to)
                return result

            group = _Group(kwargs.get("process_group"), possible) if jointly else None
            prints = (".metadata", "*.distcp")
            return self._save(state_dict, path, checkpoint_id, write, of_folder, prints=prints, group=group)

        return save

    def _lightning_save(self, original: Any) -> Any:
        def atomic_save(checkpoint: Any, filepath: Any) -> Any:
            path = self._target(filepath)
            if path is None:
                return original(checkpoint, filepath)

            def write(to: Path) -> None:
                with to.open("wb") as file:
                    torch.save(checkpoint, file)

            return self._save(checkpoint, path, filepath, write, of_torch)

        return atomic_save

    def _save(
        self,
        thing: Any,
        path: Path,
        given: Any,
        write: Callable[[Path], Any],
        check: Callable[[Path], str],
        measure: Callable[[], int | None] = lambda: None,
        prints: tuple[str, ...] = (),
        group: _Group | None = None,
    ) -> Any:
        def unseen(to: Path) -> Any:
            """The probe of `torch.save` is called afterwards, when the file has its name."""
            return self._unseen(lambda: write(to))

        save = Save(thing, path, os.fspath(given), unseen, check, measure, prints)
        if group is not None:
            return self.saving.save_jointly(save, group.ranks, possible=group.possible)
        return self.saving.save(save)

    def _is_path(self, given: Any) -> bool:
        """The same on all ranks, whatever their disks look like."""
        return (
            isinstance(given, (str, os.PathLike)) and "://" not in os.fspath(given) and self.saving.active()
        )

    def _target(self, given: Any, *, folder: bool = False) -> Path | None:
        """The file that is meant, when it is one that can be replaced: no pipe, no device, no file object."""
        if not isinstance(given, (str, os.PathLike)) or not self.saving.active():
            return None
        if "://" in os.fspath(given):
            return None
        try:
            path = real(given)
            known = path.stat()
        except FileNotFoundError:
            return path if path.parent.is_dir() else None
        except (OSError, ValueError, TypeError):
            return None
        if folder:
            return path if stat.S_ISDIR(known.st_mode) else None
        # With a second name that the script gave it, it is written in place: both must hold what was saved.
        return path if stat.S_ISREG(known.st_mode) and not self.shelf.shared(path, known) else None

    def _quiet_first_step(self, module: Any) -> None:
        """To make an optimizer's state, torch steps it once with a rate of 0 and then puts its counters back: no step
        of the training."""
        if not hasattr(module, "_init_optim_state"):
            return

        def make(original: Any) -> Any:
            def init(*args: Any, **kwargs: Any) -> Any:
                return self._unseen(lambda: original(*args, **kwargs))

            return init

        self.session.patch(module, "_init_optim_state", make)

    def _unseen(self, call: Callable[[], Any]) -> Any:
        """With the probes asleep."""
        mine = self.session.listening()
        self.session.looking = self.session.looking or mine
        try:
            return call()
        finally:
            self.session.looking = self.session.looking and not mine

    # --- loading ----------------------------------------------------------------------

    def _torch_load(self, original: Any) -> Any:
        def load(f: Any, *args: Any, **kwargs: Any) -> Any:
            return self._load(f, lambda source: original(source, *args, **kwargs))

        return load

    def _safetensors_load(self, original: Any) -> Any:
        def load_file(filename: Any, *args: Any, **kwargs: Any) -> Any:
            return self._load(filename, lambda source: original(source, *args, **kwargs))

        return load_file

    def _load(self, f: Any, load: Callable[[Any], Any]) -> Any:
        """What the script saved is what it loads, also when it lies in quarantine."""
        there = self._quarantined(f) if self.shelf.diverted and self.session.on else None
        if there is None:
            return self.loading.load(f, lambda: load(f))
        if isinstance(f, (str, os.PathLike)):
            return self.loading.load(there, lambda: load(there))
        with there.open("rb") as file:
            return self.loading.load(file, lambda: load(file))

    def _dcp_load(self, original: Any) -> Any:
        def load(*args: Any, checkpoint_id: Any = None, storage_reader: Any = None, **kwargs: Any) -> Any:
            where = storage_reader.path if _reads_files(storage_reader) else checkpoint_id
            if self.saving.active():
                self.saving.saved.filled()
            given = {"checkpoint_id": checkpoint_id, "storage_reader": storage_reader, **kwargs}
            return self.loading.load(where, lambda: original(*args, **given), folder=True)

        return load

    def _quarantined(self, f: Any) -> Path | None:
        """For a path, or a file that was opened to be read and was not read yet."""
        name = f if isinstance(f, (str, os.PathLike)) else getattr(f, "name", None)
        if not isinstance(name, (str, os.PathLike)):
            return None
        path = real(name)
        if path in self.shelf.diverted and not path.exists():  # the script has removed it
            del self.shelf.diverted[path]
        fresh = f is name or (getattr(f, "mode", "") == "rb" and f.tell() == 0)
        return self.shelf.diverted.get(path) if fresh else None


def _many() -> bool:
    distributed = torch.distributed
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def _taken(state: Any) -> Any:
    """What `dcp.save` makes of its argument first: objects with a state are asked for it, once."""
    if not isinstance(state, Mapping):
        return state
    from torch.distributed.checkpoint.stateful import Stateful

    return {key: each.state_dict() if isinstance(each, Stateful) else each for key, each in state.items()}


def _has_checksums(kwargs: Any) -> bool:
    """Whether `torch.save` writes any: not in the old format, and not when it was set to leave them out."""
    options = getattr(torch.serialization, "get_crc32_options", lambda: True)
    return kwargs.get("_use_new_zipfile_serialization", True) and bool(options())


def _writer(args: Any, kwargs: Any) -> bool:
    return bool(args) or kwargs.get("storage_writer") is not None


def _reads_files(reader: Any) -> bool:
    return type(reader).__name__ == "FileSystemReader" and hasattr(reader, "path")


def _take_along(old: Path, new: Path) -> None:
    """What else lies in the folder: a config, a log. The saver's own files are those of the old checkpoint."""
    for entry in old.iterdir():
        if entry.suffix == ".distcp" or entry.name.startswith(".metadata") or (new / entry.name).exists():
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, new / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, new / entry.name, follow_symlinks=False)

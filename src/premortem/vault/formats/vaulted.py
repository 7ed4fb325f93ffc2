"""A checkpoint folder of `premortem.Vault`: safetensors files, `state.json`, and the manifest that seals them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from premortem.errors import MissingExtra, VaultError
from premortem.files import untrusted
from premortem.vault.blocks import Advance, hashed
from premortem.vault.contents import Contents, Stored
from premortem.vault.formats.composed import close_all, opened
from premortem.vault.formats.safetensor import Safetensors
from premortem.vault.manifest import NAME, Manifest, TensorEntry
from premortem.vault.store import MOST_STATE, STATE, fingerprint
from premortem.vault.stubs import TensorStub, sizes_of, strides
from premortem.vault.tree import LEFT_OUT, MARK


class Vaulted(Stored):
    format = "vault checkpoint"
    checksums = True

    def __init__(self, path: Path) -> None:
        self.manifest = Manifest.read(path / NAME)
        self._path = path
        self._files: dict[str, Safetensors] = {}
        try:
            for name in self.manifest.files:
                if name.endswith(".safetensors"):
                    self._files[name] = _opened(path / name)
            stubs = {name: self._located(name) for name in self.manifest.tensors}
        except BaseException:
            self.close()
            raise
        super().__init__(path, self._tree(stubs))

    @staticmethod
    def recognises(path: Path) -> bool:
        return path.is_dir() and (path / NAME).is_file()

    @staticmethod
    def open(path: Path) -> Contents:
        return Vaulted(path)

    @property
    def size(self) -> int:
        return self.manifest.size

    def close(self) -> None:
        close_all(self._files)

    def fetch(self, storage: str, start: int, length: int) -> bytearray:
        name, _, key = storage.partition("/")
        return self._files[name].fetch(key, start, length)

    def damaged(self, advance: Advance) -> Iterator[tuple[str, str]]:
        for name, record in self.manifest.files.items():
            try:
                with untrusted.opened(self._path / name) as file:
                    digest, size = hashed(file, advance)
            except OSError as error:
                yield name, f"it cannot be read ({error.strerror})"
                continue
            if size != record.bytes:
                yield name, f"it is {size:,} bytes long, but {record.bytes:,} were written"
            elif digest != record.sha256:
                yield from self._guilty(name)

    def _guilty(self, file: str) -> Iterator[tuple[str, str]]:
        """The tensors of a damaged file whose bytes are others, or the file when none of them is."""
        owner = self._files.get(file)
        names = [name for name, entry in self.manifest.tensors.items() if owner and entry.file == file]
        try:
            guilty = [
                name for name in names if owner and not self._as_printed(owner, self.manifest.tensors[name])
            ]
        except MissingExtra:  # the library of the fingerprints; the file is damaged all the same
            guilty = []
        yield from ((name, f"its bytes in {file} are not those that were written") for name in guilty)
        if not guilty:
            yield file, "it is not the file that was written: its checksum is another"

    @staticmethod
    def _as_printed(owner: Safetensors, entry: TensorEntry) -> bool:
        held = owner.stub(entry.key).storage
        if held is None or not entry.fingerprint:
            return True
        return fingerprint(owner.fetch(held.key, 0, owner.tensors[entry.key].bytes)) == entry.fingerprint

    def _located(self, name: str) -> TensorStub:
        entry = self.manifest.tensors[name]
        owner = self._files.get(entry.file)
        if owner is None or entry.key not in owner.tensors:
            raise VaultError(f"`{name}` is not in {entry.file or 'any file'}", record=name)
        held = owner.stub(entry.key)
        assert held.storage is not None  # noqa: S101 - safetensors always has one
        shape = sizes_of(entry.shape, f"`{name}`")
        storage = type(held.storage)(f"{entry.file}/{held.storage.key}", entry.dtype, held.storage.elements)
        return TensorStub(storage, entry.dtype, shape, strides(shape))

    def _tree(self, stubs: Mapping[str, TensorStub]) -> Any:
        try:
            trees = untrusted.loads(untrusted.read(self._path / STATE, MOST_STATE))
        except FileNotFoundError:
            return dict(stubs)
        except ValueError as error:
            raise VaultError(f"{STATE} is damaged; it is not valid JSON ({error})", record=STATE) from None
        if not isinstance(trees, dict):
            raise VaultError(f"{STATE} is damaged; it describes no pieces", record=STATE)
        return {piece: _with_stubs(tree, f"{piece}.", stubs) for piece, tree in trees.items()}


def _with_stubs(tree: Any, prefix: str, stubs: Mapping[str, TensorStub]) -> Any:
    """What tree.py took apart, with stubs in the place of tensors; needs no torch."""
    if isinstance(tree, list):
        return [_with_stubs(item, prefix, stubs) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if MARK not in tree:
        return {key: _with_stubs(item, prefix, stubs) for key, item in tree.items()}
    word, value = tree[MARK], tree["v"]
    if word == "tensor":
        if f"{prefix}{value}" not in stubs:
            raise VaultError(f"`{prefix}{value}` is missing", record=f"{prefix}{value}")
        return stubs[f"{prefix}{value}"]
    if word == "array":
        return stubs.get(f"{prefix}{value[1]}")
    if word in {"dict", "counter"}:
        return {_key(key): _with_stubs(item, prefix, stubs) for key, item in value}
    if word in {"tuple", "size", "set"}:
        return tuple(_with_stubs(item, prefix, stubs) for item in value)
    if word == "float":
        return float(value)
    if word == "left out":
        return f"{LEFT_OUT!r} {value}"
    return value[1] if word == "number" else value


def _key(key: Any) -> Any:
    return tuple(key["v"]) if isinstance(key, dict) else key


def _opened(path: Path) -> Safetensors:
    if not path.is_file():
        raise VaultError(f"the file {path.name} is missing", record=path.name)
    return opened(path, Safetensors.open)

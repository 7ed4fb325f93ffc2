"""A place elsewhere: a folder, s3://, gs://, ssh://, hf://, whatever fsspec can open.

What was put there is read back and compared by checksum; before that it does not count.
"""

import hashlib
import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from premortem import redaction
from premortem.errors import MissingExtra, PremortemError, UsageError, VaultError
from premortem.vault.atomic import copy_into, write_whole
from premortem.vault.blocks import BLOCK, hashed

# A connection that is dead must be noticed: these libraries wait for minutes, or for ever.
_OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {
        "config_kwargs": {"connect_timeout": 10, "read_timeout": 30, "retries": {"max_attempts": 1}},
        # Lists of what is there, kept from before, would hide what has just been written.
        "use_listings_cache": False,
    },
    "gs": {"use_listings_cache": False},
    "gcs": {"use_listings_cache": False},
}


class Remote:
    """One target. Every method may raise anything that its library raises."""

    def __init__(self, url: str, **options: Any) -> None:
        self.url = url
        redaction.learn_url(url)
        self.shown = redaction.redacted(url)
        self._options = options
        self.protocol = protocol_of(url)
        self._fs: Any = None
        self._root = ""
        self.answered = False  # whether it has answered so far

    def check(self) -> None:
        """Raises UsageError, MissingExtra or VaultError when this can never work. Does not ask the network.

        An error of a library that does ask it is ignored: the network may work later."""
        try:
            self._connect()
        except PremortemError:
            raise
        except Exception:  # noqa: BLE001 - whatever a library raises; a mirror tries again, and reports it
            self.forget()

    def forget(self) -> None:
        """The connection is not to be trusted any more; the next call makes another one."""
        self._fs = None

    def put(self, path: Path, name: str, sha256: str) -> None:
        """Upload a file and read it back. Raises VaultError when what came back is something else."""
        fs, target = self._at(name)
        fs.makedirs(posixpath.dirname(target), exist_ok=True)
        if not self._holds(name, sha256, path.stat().st_size):
            if self.protocol == "file":
                write_whole(Path(target), lambda file: copy_into(file, path))
            else:
                fs.put_file(str(path), target)
            self._same(name, sha256)

    def write(self, name: str, content: bytes) -> None:
        """A small file, whole, read back."""
        fs, target = self._at(name)
        if self.protocol == "file":
            fs.makedirs(posixpath.dirname(target), exist_ok=True)
            write_whole(Path(target), lambda file: file.write(content))
        else:
            fs.pipe_file(target, content)
        self._same(name, hashlib.sha256(content).hexdigest())

    def read(self, name: str, most: int) -> bytes:
        """A small file. Raises VaultError when it has more bytes than that."""
        fs, target = self._at(name)
        content: bytes = fs.cat_file(target, start=0, end=most + 1)
        if len(content) > most:
            raise VaultError(f"{name} has more than {most:,} bytes, which is too large for what it should be")
        return content

    def names(self) -> dict[str, int]:
        """Every file there, and how long it is."""
        fs = self._connect()
        found = fs.find(self._root, detail=True)
        return {
            name.removeprefix(self._root).lstrip("/"): int(about.get("size") or 0)
            for name, about in found.items()
            if about.get("type") == "file"
        }

    def listed(self, prefix: str) -> dict[str, str]:
        """The files below a folder there, each with a word that is another one once it was written again."""
        fs, target = self._at(prefix.rstrip("/"))
        try:
            found = fs.find(target, detail=True)
        except FileNotFoundError:
            return {}
        return {
            name.removeprefix(self._root).lstrip("/"): str(
                about.get("ETag") or (about.get("mtime") or about.get("LastModified"), about.get("size"))
            )
            for name, about in found.items()
        }

    def read_all(self, names: Sequence[str], most: int) -> dict[str, bytes]:
        """Several small files at once. Those that are gone meanwhile, or are larger, are left out."""
        fs = self._connect()
        targets = {posixpath.join(self._root, name): name for name in names}
        found = fs.cat_ranges(list(targets), 0, most + 1, on_error="return")
        for content in found:
            if isinstance(content, Exception) and not isinstance(content, FileNotFoundError):
                raise content
        return {
            name: content
            for name, content in zip(targets.values(), found, strict=True)
            if isinstance(content, bytes) and len(content) <= most
        }

    def is_file(self) -> bool:
        """Whether the address is that of one file."""
        return bool(self._connect().isfile(self._root))

    def open(self, name: str) -> Any:
        """For reading from its beginning to its end."""
        fs, target = self._at(name)
        return fs.open(target, "rb", cache_type="readahead", block_size=BLOCK)

    def sha256(self, name: str) -> str:
        with self.open(name) as file:
            return hashed(file)[0]

    def remove(self, name: str) -> None:
        fs, target = self._at(name)
        if fs.exists(target):
            fs.rm(target)

    def _holds(self, name: str, sha256: str, size: int) -> bool:
        """Whether it is there already, from an attempt whose answer was lost."""
        fs, target = self._at(name)
        try:
            found = fs.size(target)
        except FileNotFoundError:
            found = None
        self.answered = True
        return found == size and self.sha256(name) == sha256

    def _same(self, name: str, sha256: str) -> None:
        if self.sha256(name) != sha256:
            raise VaultError(f"what was read back from {self.shown}/{name} is not what was sent")

    def _at(self, name: str) -> tuple[Any, str]:
        fs = self._connect()
        return fs, posixpath.join(self._root, name)

    def _connect(self) -> Any:
        if self._fs is not None:
            return self._fs
        try:
            import fsspec  # type: ignore[import-untyped]
        except ImportError:
            raise MissingExtra("a mirror", "mirror") from None
        options = {**_OPTIONS.get(self.protocol, {}), **self._options}
        try:
            self._fs, self._root = fsspec.core.url_to_fs(self.url, skip_instance_cache=True, **options)
        except ImportError as error:
            raise VaultError(f"a mirror on {self.protocol}:// needs one more package: {error}") from error
        except ValueError as error:
            raise UsageError(
                f"`{self.shown}` is not a place that premortem can mirror to ({error})"
            ) from error
        self._root = self._root.rstrip("/")
        return self._fs


def protocol_of(url: str) -> str:
    return url.partition("://")[0] if "://" in url else "file"


def first_line(error: BaseException) -> str:
    """What an error of a library says, in one line and without secrets: it may show the whole URL."""
    lines = redaction.redacted(str(error).strip()).splitlines()
    return (lines[0] if lines else type(error).__name__)[:300]

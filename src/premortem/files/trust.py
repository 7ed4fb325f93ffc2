"""Tells what this user wrote on this machine from what came from elsewhere.

    STATE/premortem/key    32 random bytes, readable by their owner alone; made when something is first signed
    sign(...)              "3f0c9a1b:…": which key it was, and the HMAC-SHA256 of the content under it
    doubt(...)             why this user may not have written it; "" when they did

A capsule names a command, and a checkpoint's manifest names a path to write to. Such a file cannot vouch for itself: what it
says of its folder, its owner or its origin, a stranger can write as well. The key is what a stranger does not have. Where a
folder lies plays no part, so that one's own capsule may be moved.

STATE is $XDG_STATE_HOME, else ~/.local/state (Linux), ~/Library/Application Support (macOS) or %LOCALAPPDATA% (Windows).
"""

import errno
import hashlib
import hmac
import os
import secrets
import shlex
import stat
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from premortem.errors import PremortemError

SIZE = 32  # bytes of a key
# For a replay that the run itself starts: the digests of what it wrote, where there is no key to recognise it by.
WRITTEN = "PREMORTEM_WRITTEN"
_OTHERS = 0o077
_TRIES = 50  # short ones: a process next door may be writing the key in this moment
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES}

_unsigned: set[str] = set()  # digests of what this process would have signed


class NoKey(PremortemError):  # noqa: N818 - reads as what it says
    """There is no key that may be used; the text says why."""


def sign(purpose: str, content: bytes) -> str:
    """A signature of `content`; "" where no key can be kept. A signature for one purpose is none for another."""
    try:
        return _signature(_key(), purpose, content)
    except NoKey:
        _unsigned.add(digest(content))
        return ""


def doubt(purpose: str, content: bytes, signature: str) -> str:
    """Why this user may not have written `content`, as the rest of a sentence; "" when they did."""
    if digest(content) in os.environ.get(WRITTEN, "").split(","):
        return ""
    try:
        key = _read(key_file())
    except FileNotFoundError:
        return "there is no key of yours on this machine that could have signed it"
    except NoKey as error:
        return f"your key cannot be used to check it ({error})"
    if not signature:
        return "it is not signed with your key"
    own = _signature(key, purpose, content)
    if hmac.compare_digest(own.encode(), signature.encode()):
        return ""
    if own.partition(":")[0] == signature.partition(":")[0]:
        return "it is not what was signed with your key: it was changed, or the signature belongs to something else"
    return "it is signed with another key: by another user, on another machine, or before your key was made"


def handed_on() -> dict[str, str]:
    """The variable by which a process that this one starts recognises what this one wrote."""
    return {WRITTEN: ",".join(sorted(_unsigned))}


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# --- the key ---------------------------------------------------------------------------------


def key_file() -> Path:
    """Raises NoKey where the user has no folder of their own."""
    return state() / "premortem" / "key"


def state() -> Path:
    """Where a user's programs keep what is theirs. Raises NoKey."""
    given = os.environ.get("XDG_STATE_HOME", "")
    if Path(given).is_absolute():  # the convention says to ignore others
        return Path(given)
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"])
    try:
        home = Path.home()
    except RuntimeError:
        raise NoKey("there is no home folder, and XDG_STATE_HOME is not set") from None
    return home / ("Library/Application Support" if sys.platform == "darwin" else ".local/state")


def _key() -> bytes:
    """The user's key, made if there is none yet."""
    path = key_file()
    try:
        with suppress(FileNotFoundError):
            return _read(path)
        _make(path)
        return _read(path)
    except OSError as error:
        raise NoKey(f"{path} cannot be made or read: {error.strerror or error}") from error


def _read(path: Path) -> bytes:
    """Raises FileNotFoundError, and NoKey when others could know or exchange the key."""
    try:
        _private(path.parent, path.parent.stat(), 0o022)
        for _ in range(_TRIES):
            with opened(path) as file:
                _private(path, os.fstat(file.fileno()), _OTHERS)
                key = file.read(SIZE + 1)
            if len(key) == SIZE:
                return key
            time.sleep(0.01)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NoKey(f"{path} cannot be read: {error.strerror or error}") from error
    raise NoKey(f"{path} is not a key of {SIZE} bytes; delete it, and a new one is made")


def _private(path: Path, about: os.stat_result, forbidden: int) -> None:
    if not hasattr(os, "geteuid"):  # Windows: a user's folders are theirs by its access lists
        return
    if about.st_uid != os.geteuid():
        raise NoKey(f"{path} belongs to another user (number {about.st_uid})")
    mode = stat.S_IMODE(about.st_mode)
    if mode & forbidden:
        if stat.S_ISDIR(about.st_mode):
            raise NoKey(
                f"others may write to {path} (mode {mode:04o}); make it yours alone: chmod 700 {path}"
            )
        raise NoKey(
            f"others may read or write {path} (mode {mode:04o}), so they may know it; delete it, and a new one is made"
        )


def _make(path: Path) -> None:
    """Whole or not at all, and only once: of many processes that come here together, all use the key of the first."""
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_name(f".key-{os.getpid()}-{secrets.token_hex(8)}")
    _write_new(draft, secrets.token_bytes(SIZE))
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with suppress(FileExistsError):  # a file system without links
            _write_new(path, draft.read_bytes())
    finally:
        draft.unlink(missing_ok=True)


def _write_new(path: Path, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _signature(key: bytes, purpose: str, content: bytes) -> str:
    which = hmac.new(key, b"premortem key", hashlib.sha256).hexdigest()[:8]
    message = f"premortem {purpose}".encode() + b"\0" + content
    return f"{which}:{hmac.new(key, message, hashlib.sha256).hexdigest()}"


# --- files of strangers ----------------------------------------------------------------------


def opened(path: Path) -> BinaryIO:
    """A file that is itself a plain file. A link may lead anywhere, and a pipe or a device has no end: OSError."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link, and not the file itself")
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    number = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is not a plain file")
    return os.fdopen(number, "rb")


def shown(words: Iterable[str]) -> str:
    """A command of a stranger's, for a person who must judge it: nothing in it can hide a part of it from them."""
    return " ".join(shlex.quote(word) if word.isprintable() else ascii(word) for word in words)

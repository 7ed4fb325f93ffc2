"""One sandbox: the script reads everything as it is, and what it writes reaches nothing of the user's.

level  how                                                       what is promised
1      a mount namespace (root of the whole machine)             everything, child processes and C code too
2      a user namespace with overlays                            the same
3      a copy of the script's folder, the rest read-only         nothing leaks; what is written elsewhere is refused
4      Python's calls redirected, Landlock and an audit hook     nothing leaks but by chmod and the like from C code
5      Python's calls redirected, an audit hook                  not guaranteed

The first that this machine allows is taken, and every answer says which one that was.
"""

import errno
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from premortem.scriptrun.sandbox import kernel, landlock, namespace
from premortem.scriptrun.sandbox.audit import REFUSED, Audit
from premortem.scriptrun.sandbox.layers import Layer, Layers
from premortem.scriptrun.sandbox.namespace import COPY, MOUNTS, USER

TABLE, AUDIT = 4, 5
LEVELS = (MOUNTS, USER, COPY, TABLE, AUDIT)
VARIABLE = "PREMORTEM_SANDBOX"  # a level to begin with, instead of the first
PROMISES = {
    MOUNTS: "nothing of the user's was written",
    USER: "nothing of the user's was written",
    COPY: "nothing of the user's was written",
    TABLE: "no file of the user's was made, changed or removed",
    AUDIT: "not guaranteed",
}
_SENTENCES = {
    COPY: "the script ran in a copy of its folder, and could write nothing elsewhere: this machine has no overlays for it",
    TABLE: "what the script's Python wrote was redirected, and other writes were refused: this machine allows no namespaces",
    AUDIT: "it is not guaranteed that the script wrote nothing: this machine allows neither namespaces nor Landlock",
}


@dataclass(frozen=True)
class Guarantee:
    """Which sandbox a script had."""

    level: int
    refused: dict[str, str] = field(default_factory=dict)  # folder that could only be read -> why
    fell: dict[int, str] = field(default_factory=dict)  # better level -> why it could not be had

    @property
    def sentence(self) -> str:
        """Empty where there is nothing to say: everything can be read and written, and nothing stays."""
        return _SENTENCES.get(self.level, "")

    def to_json(self) -> dict[str, object]:
        """For the answers of the verbs."""
        return {"level": self.level, "guarantee": PROMISES.get(self.level, ""), "note": self.sentence}


@dataclass
class Sandbox:
    """Seen from inside."""

    level: int
    layers: Layers
    record: dict[str, object]

    def keep(self, folder: Path) -> None:
        self.layers.keep(folder)

    def wrote(self, path: str) -> bool:
        """Whether the script wrote this file itself."""
        return self.layers.place(os.path.realpath(path)) is not None


def is_refusal(level: int, message: str) -> bool:
    """Whether an error of the script's may come from its sandbox alone: then it is not the script's bug."""
    errors = [os.strerror(errno.EOVERFLOW)]  # a file of another owner, in a user namespace
    if level >= COPY:
        errors += [REFUSED, *(os.strerror(each) for each in (errno.EROFS, errno.EACCES, errno.EXDEV))]
    return level > MOUNTS and any(words in message for words in errors)


def first_level() -> int:
    given = os.environ.get(VARIABLE, "")
    if given.isdigit() and int(given) in LEVELS:
        return int(given)
    return MOUNTS if kernel.LINUX else AUDIT


def enter(scratch: Path, run: Path, level: int) -> Sandbox:
    """Move this process in, for good. `scratch`: ours; `run`: a new folder in it. Raises OSError when it may not."""
    if not kernel.LINUX and level != AUDIT:
        raise OSError(errno.ENOSYS, "this is not Linux")
    through = (str(scratch / "shared"), str(scratch / "tmp"))
    if level <= COPY:
        sandbox = _entered(str(scratch), str(run), through, level)
    else:
        sandbox = _redirected(scratch, run, level)
    if sandbox.level >= COPY:
        os.environ["TMPDIR"] = str(scratch / "tmp")
        tempfile.tempdir = None
    sandbox.record["level"] = sandbox.level
    return sandbox


def enter_again(folder: Path, level: int) -> Sandbox:
    """A fork of a process inside moves into a sandbox of its own there. `folder` is new, and lies where layers can lie."""
    if level > USER:
        raise OSError(errno.ENOSYS, "only a sandbox of overlays can have another one inside")
    folder.mkdir()
    return _entered(str(folder), str(folder), (), level)


def _entered(scratch: str, run: str, through: tuple[str, ...], level: int) -> Sandbox:
    entered = namespace.enter(scratch, run, through, level)
    return Sandbox(
        entered.level,
        Layers(f"/proc/self/fd/{entered.store}", entered.layers),
        {"layers": Layers.to_json(entered.layers), "refused": entered.refused, "store": "layers"},
    )


def _redirected(scratch: Path, run: Path, level: int) -> Sandbox:
    from premortem.scriptrun.sandbox import libraries
    from premortem.scriptrun.sandbox.table import Table
    from premortem.scriptrun.sandbox.tree import Tree

    if level == TABLE and not landlock.available():
        raise OSError(errno.ENOSYS, "the kernel has no Landlock")
    written = run / "written"
    written.mkdir()
    writable = (str(scratch), "/dev", "/proc")
    tree = Tree(str(written), (str(scratch / "shared"), str(scratch / "tmp"), "/dev", "/proc", "/sys"))
    Table(tree).install()
    libraries.cover(tree)
    Audit(writable).install()
    if level == TABLE:
        landlock.guard(writable)
    layers = {"/": Layer("written")}
    record: dict[str, object] = {"layers": Layers.to_json(layers), "refused": {}, "store": ""}
    return Sandbox(level, Layers(str(run), layers, tree.gone), record)

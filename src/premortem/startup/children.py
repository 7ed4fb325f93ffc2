"""The processes that a watched run starts: they learn of the run, and are watched once they train.

    a process is started      subprocess, multiprocessing, os.exec*, os.posix_spawn, os.system: where it may be a Python, it gets
                              two environment variables, which path/sitecustomize.py takes away again before anything runs
    a process is forked       has all of this already
    in either                 nothing, until an optimizer is built or has made a step: then premortem is imported and attached
                              (child_run.py). Workers of a loader never get there.

Nothing is written and nothing printed here.
"""

from __future__ import annotations

import os
import sys

from premortem.startup.import_hook import ImportHook

TYPE_CHECKING = False  # `typing` would be a large part of a small process's start
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

VARIABLE = "PREMORTEM_CHILD"
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "path")
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash"}
_BREAKS = str.maketrans(";&|()<>'\"`$={}\n\t", " " * 16)
_WORDS = 64  # of a command that are looked at


class Family:
    """What one process knows of it."""

    def __init__(self, order: str) -> None:
        self.order = order
        self.unwatched: list[str] = []  # Pythons that were started and cannot learn of the run
        self.on_start: Callable[[], None] | None = None  # a process was started, or forked
        self.parent = 0  # process of which this one was forked
        self._pid = os.getpid()
        self._on = True
        self._signs: Signs | None = None
        self._covers: list[tuple[Any, str, Any, Any]] = []

    def hand_on(self) -> None:
        """From now on to every process that this one starts."""
        try:
            import _posixsubprocess  # what subprocess and multiprocessing start processes with
        except ImportError:
            return
        self._cover(_posixsubprocess, "fork_exec", self._fork_exec)
        self._cover(sys.modules.get("subprocess"), "_fork_exec", self._fork_exec)
        for name in ("posix_spawn", "posix_spawnp"):
            self._cover(os, name, self._posix_spawn)
        self._cover(os, "execv", self._execv)
        self._cover(os, "execve", self._execve)
        self._cover(os, "system", self._system)
        os.register_at_fork(after_in_child=self._forked, after_in_parent=self._started)

    def wait_for_training(self) -> None:
        self._signs = Signs(self._trains, self._unwatched)
        self._signs.wait()

    def stand_down(self) -> None:
        """Tell and watch no one from now on."""
        self._on = False
        if self._signs is not None:
            self._signs.leave()
        while self._covers:
            owner, name, original, cover = self._covers.pop()
            if getattr(owner, name) is cover:
                setattr(owner, name, original)

    def _trains(self) -> None:
        """Never raises: a bug of ours is no reason to end the user's process."""
        self._signs = None
        try:
            _make_importable()
            from premortem.run.child_run import begin

            begin(self)
        except Exception as error:  # noqa: BLE001
            self._unwatched(error)

    def _unwatched(self, error: Exception) -> None:
        """The run says at its end that this process was not looked at."""
        import contextlib
        import json

        with contextlib.suppress(Exception):
            folder = json.loads(self.order.split("\n", 2)[2])["folder"]
            with open(os.path.join(folder, f"unwatched-{os.getpid()}.txt"), "w", encoding="utf-8") as file:
                file.write(f"{shown([sys.executable, *sys.argv])} ({type(error).__name__}: {error})")

    def _forked(self) -> None:
        self.on_start = None
        self.parent, self._pid = self._pid, os.getpid()
        self.unwatched = []
        if self._on and self._signs is None:
            self.wait_for_training()

    def _started(self) -> None:
        if self.on_start is not None:
            self.on_start()

    # -- a process is started -------------------------------------------------------------

    def _cover(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return
        cover = make(original)
        cover.__name__, cover.__qualname__, cover.__doc__ = name, name, original.__doc__
        setattr(owner, name, cover)
        self._covers.append((owner, name, original, cover))

    def _tells(self, command: Sequence[Any], program: Any = None) -> bool:
        """Whether a process that is about to be started with this command learns of the run."""
        if not self._on:
            return False
        words = [os.fsdecode(word) for word in list(command)[:_WORDS]]
        if program is not None:
            words[:1] = [os.fsdecode(program)]
        told = may_be_python(words)
        if told is None:
            self.unwatched.append(shown(words))
        elif told:
            self._started()
        return bool(told)

    def _fork_exec(self, original: Any) -> Any:
        def fork_exec(*args: Any) -> Any:
            try:
                program = list(args[1])[-1] if len(list(args[1])) == 1 else None
                if len(args) > 5 and self._tells(args[0], program):
                    args = (*args[:5], self._entries(args[5]), *args[6:])
            except Exception:  # noqa: BLE001, S110 - an argument that is none: the original says so
                pass
            return original(*args)

        return fork_exec

    def _posix_spawn(self, original: Any) -> Any:
        def posix_spawn(path: Any, argv: Any, env: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                if self._tells(argv, path):
                    env = self._told(env)
            except Exception:  # noqa: BLE001, S110
                pass
            return original(path, argv, env, *args, **kwargs)

        return posix_spawn

    def _execv(self, original: Any) -> Any:
        def execv(path: Any, argv: Any) -> Any:
            told = None
            try:
                if self._tells(argv, path):
                    told = dict(entry.split(b"=", 1) for entry in self._entries(None) or [])
            except Exception:  # noqa: BLE001, S110
                pass
            if told is None:
                return original(path, argv)
            execve = getattr(os.execve, "__wrapped__", os.execve)
            return execve(path, argv, told)

        return execv

    def _execve(self, original: Any) -> Any:
        def execve(path: Any, argv: Any, env: Any) -> Any:
            try:
                if self._tells(argv, path):
                    env = self._told(env)
            except Exception:  # noqa: BLE001, S110
                pass
            return original(path, argv, env)

        execve.__wrapped__ = original  # type: ignore[attr-defined]
        return execve

    def _system(self, original: Any) -> Any:
        def system(command: Any) -> Any:
            try:
                if self._tells(["sh", "-c", command]):
                    told = self._told(os.environ)
                    names = " ".join(f"{name}={_quoted(told[name])}" for name in ("PYTHONPATH", VARIABLE))
                    command = f"export {names}; {os.fsdecode(command)}"
            except Exception:  # noqa: BLE001, S110
                pass
            return original(command)

        return system

    def _told(self, env: Mapping[Any, Any]) -> dict[Any, Any]:
        """The same environment, and the order. One that was not made from this process's own stays as it is."""
        plain = {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
        if env is not os.environ and not _inherited(plain):
            return dict(env)
        paths = [FOLDER, *filter(None, [plain.get("PYTHONPATH")])]
        return {**plain, "PYTHONPATH": os.pathsep.join(paths), VARIABLE: self.order}

    def _entries(self, given: Sequence[bytes] | None) -> Sequence[bytes] | None:
        """The same as a list of `NAME=value`; None stands for the environment that C code sees."""
        entries = _environment_of_c() if given is None else list(given)
        env = {name: value for name, _, value in (entry.partition(b"=") for entry in entries)}
        told = self._told(os.environ if given is None else env)
        if VARIABLE not in told:
            return given
        added = {name: os.fsencode(told[name]) for name in ("PYTHONPATH", VARIABLE)}
        kept = [
            entry for entry in entries if entry.partition(b"=")[0] not in {b"PYTHONPATH", VARIABLE.encode()}
        ]
        return [*kept, *(name.encode() + b"=" + value for name, value in added.items())]


class Signs:
    """Calls `trains` once, in the thread that builds the first optimizer, or has made the first step."""

    def __init__(self, trains: Callable[[], None], cannot: Callable[[Exception], None]) -> None:
        self._trains = trains
        self._cannot = cannot  # be watched, although it trains
        self._hook = ImportHook("torch", self._arrived)
        self._waits = True
        self._cover: tuple[Any, Any, Any] | None = None
        self._handle: Any = None

    def wait(self) -> None:
        self._hook.wait()

    def leave(self) -> bool:
        """Put everything back. False when someone has covered what we put there."""
        self._waits = False
        self._hook.leave()
        if self._handle is not None:
            self._handle.remove()
        if self._cover is None:
            return True
        owner, original, cover = self._cover
        whole = vars(owner).get("__init__") is cover
        if whole:
            owner.__init__ = original
        return whole

    def _arrived(self) -> None:
        module = sys.modules.get("torch.optim.optimizer")
        if module is None or not self._waits:
            return
        owner = module.Optimizer
        original = owner.__init__

        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            if not self._waits:
                original(optimizer, *args, **kwargs)
                return
            whole = self.leave()
            self._trains()
            (owner.__init__ if whole else original)(optimizer, *args, **kwargs)

        __init__.__wrapped__ = original  # type: ignore[attr-defined]  # `inspect.signature` follows it
        __init__.__doc__ = original.__doc__
        owner.__init__ = __init__
        self._cover = (owner, original, __init__)
        self._handle = module.register_optimizer_step_post_hook(self._stepped)

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._waits:
            return
        # torch is walking through its table of hooks: it may be changed when ours is the last one in it.
        table = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
        if next(reversed(table)) == self._handle.id:
            self.leave()
            self._trains()
        else:
            self._waits = False
            self._cannot(RuntimeError("hooks of the script's own stand after premortem's"))


_family: Family | None = None


def family() -> Family | None:
    """Of a process that a watched run has started."""
    return _family


def adopt(order: str) -> None:
    """At the start of a process that learnt of the run."""
    global _family  # noqa: PLW0603 - a process is started once
    _family = Family(order)
    _family.hand_on()
    _family.wait_for_training()


def _make_importable() -> None:
    """The package that this file is part of, where the process has another path."""
    if "premortem" in sys.modules:
        return
    from importlib.util import find_spec, module_from_spec, spec_from_file_location

    if find_spec("premortem") is None:
        home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        start = os.path.join(home, "__init__.py")
        spec = spec_from_file_location("premortem", start, submodule_search_locations=[home])
        if spec is not None and spec.loader is not None:
            sys.modules["premortem"] = module = module_from_spec(spec)
            spec.loader.exec_module(module)


# --- commands --------------------------------------------------------------------------------


def may_be_python(words: Sequence[str]) -> bool | None:
    """Whether a command may start a Python of ours; None for a Python that does not read PYTHONPATH."""
    first = os.path.basename(words[0]) if words else ""
    if first in _SHELLS:
        rest = [word for word in words[1:] if not word.startswith("-")]
        if "-c" not in words:
            return bool(rest)  # a file of commands: unknown
        return any(may_be_python([word]) for text in rest[:1] for word in text.translate(_BREAKS).split())
    for number, word in enumerate(words):
        name = os.path.basename(word)
        if _python(word):
            return None if _isolated(words[number + 1 :]) else True
        if name.endswith(".py") or _script(word):
            return True
        if " " in word and any(_python(part) for part in word.translate(_BREAKS).split()):
            return True  # a command in one word, for a program that starts others: `raylet --python_worker_command=...`
    return False


def _python(word: str) -> bool:
    return os.path.basename(word).startswith(("python", "pypy"))


def shown(words: Sequence[str]) -> str:
    """A command up to the name of the script: what follows may hold passwords."""
    kept: list[str] = [os.path.basename(words[0])] if words else []
    for word in words[1:]:
        kept.append("..." if kept[-1] == "-c" else word)
        if not word.startswith("-"):
            break
    return " ".join(kept)[:200]


def _isolated(words: Sequence[str]) -> bool:
    """-I and -E ignore the variable, with -S there is no `sitecustomize`."""
    skip = False
    for word in words:
        if skip:
            skip = False
            continue
        if not word.startswith("-") or word in {"-", "-c", "-m"}:
            return False
        for place, letter in enumerate(word[1:], start=2):
            if letter in "IES" and not word.startswith("--"):
                return True
            if letter in "cm":
                return False
            if letter in "XW":
                skip = place == len(word)
                break
    return False


def _script(word: str) -> bool:
    """Whether the word is a program that begins with `#!` and a Python, or a shell."""
    places = [""] if os.sep in word else os.environ.get("PATH", os.defpath).split(os.pathsep)
    if word.startswith("-") or not word or len(word) > 200:
        return False
    for place in places:
        path = os.path.join(place, word)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            with open(path, "rb") as file:
                line = file.readline(200)
            return line.startswith(b"#!") and (b"python" in line or line.rstrip().endswith(b"sh"))
    return False


def _inherited(env: Mapping[str, str]) -> bool:
    """Whether an environment was made from this process's own."""
    own = os.environ.items()
    same = sum(env.get(name) == value for name, value in own)
    return 2 * same >= len(own) > 0


def _environment_of_c() -> list[bytes]:
    """Libraries set variables too, which `os.environ` does not know."""
    try:
        import ctypes

        environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        entries: list[bytes] = []
        while (entry := environ[len(entries)]) is not None:
            entries.append(entry)
        return entries
    except Exception:  # noqa: BLE001 - no such symbol, no ctypes
        return [name + b"=" + value for name, value in os.environb.items()]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"

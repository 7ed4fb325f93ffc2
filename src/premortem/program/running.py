"""The user's program, run in this process as `python script.py` or `python -m module` would run it.

Nothing here knows of watching: argv, `__main__`, tracebacks and exit codes are Python's own.
"""

import builtins
import difflib
import importlib.machinery
import importlib.util
import os
import runpy
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType, TracebackType

from premortem import redaction
from premortem.errors import Stopped, UsageError
from premortem.events import Site
from premortem.files.libraries import is_library
from premortem.points.disguise import is_ours
from premortem.program.private_imports import step_aside
from premortem.terminal.printed_lines import unread

INTERRUPTED = 130  # what a shell calls death by Ctrl-C

_COMPILER = ("/torch/_dynamo/", "/torch/_inductor/")


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a program ended. `reason` and the rest are those of `events.RunEnded`."""

    reason: str
    exit_code: int
    error: str = ""
    message: str = ""
    at: Site | None = None
    compiling: bool = False  # torch's compiler stands in the traceback


@dataclass(kw_only=True)
class Program:
    """A script or module with its arguments."""

    target: str
    module: bool = False
    argv: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._source = b""
        redaction.argv(self.argv)  # what is secret in it is known from here on

    @property
    def name(self) -> str:
        return self.target if self.module else Path(self.target).stem

    def check(self) -> None:
        """Raises UsageError when there is nothing to run. Runs nothing of the user's yet."""
        if self.module:
            self._check_module()
        else:
            self._source = _read(self.target)

    def run(self) -> Ending:
        """The whole program, from its first line to its last. Prints what Python would print.

        Raises UsageError when a package that is there turns out not to have the module.
        """
        if self.module:
            uncaught = self._run_module()
        else:
            try:
                main, code = self._load_script()
            except BaseException as error:  # noqa: BLE001 - a syntax error
                uncaught = error
            else:
                uncaught = _execute(main, code)
        # Outside of any `except`, so that what the user's excepthook raises is not chained to it.
        return _ending(uncaught) if uncaught is not None else Ending(reason="finished", exit_code=0)

    def _load_script(self) -> tuple[ModuleType, CodeType]:
        # Absolute, but otherwise as it was given: tracebacks print it.
        folder = "" if Path(self.target).is_absolute() else Path.cwd()
        path = os.path.join(folder, self.target)  # noqa: PTH118 - Path would tidy it
        sys.argv = [self.target, *self.argv]
        _set_first_path(Path(path).resolve().parent)
        step_aside(Path(path).resolve().parent)
        main = _main(path, importlib.machinery.SourceFileLoader("__main__", path))
        try:
            return main, compile(self._source, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            if getattr(error, "filename", None):
                raise
            # A file that is not text: the error says what is wrong with it, but not which file it is.
            raise SyntaxError(str(error), (path, 1, None, None)) from None

    def _check_module(self) -> None:
        """Only the first part of a dotted name: looking for the rest would import the user's packages."""
        sys.argv = ["-m", *self.argv]
        try:
            _set_first_path(Path.cwd())
        except FileNotFoundError:
            raise UsageError("the current directory no longer exists") from None
        top = self.target.partition(".")[0]
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError):
            spec = None
        if spec is None:
            raise self._no_module()

    def _run_module(self) -> BaseException | None:
        """By `runpy`, as `python -m` does: its frames stand in the tracebacks of plain Python too."""
        step_aside(Path.cwd())
        sys.modules["__main__"] = _main(None, None)
        try:
            runpy._run_module_as_main(self.target)  # type: ignore[attr-defined]  # noqa: SLF001
        except SystemExit as leaving:
            if isinstance(leaving.__context__, runpy._Error):  # type: ignore[attr-defined]  # noqa: SLF001
                raise self._no_module() from None
            return leaving
        except BaseException as error:  # noqa: BLE001 - shown as Python would show it
            return error
        return None

    def _no_module(self) -> UsageError:
        if self.target.endswith(".py"):
            return UsageError(
                f"there is no module `{self.target}`; did you mean `premortem run {self.target}`?"
            )
        top = sys.modules.get(self.target)
        if top is not None and hasattr(top, "__path__"):
            return UsageError(f"`{self.target}` is a package without `__main__`, so it cannot be run")
        return UsageError(f"there is no module `{self.target}` on the path")


def _read(target: str) -> bytes:
    path = Path(target)
    try:
        if path.is_dir():
            raise UsageError(f"`{target}` is a directory; name the script in it that you want to run")
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no script `{target}`{_similar(path)}") from None
    except OSError as error:
        raise UsageError(f"the script `{target}` cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"`{target}` cannot be the name of a file ({error})") from error


def _similar(path: Path) -> str:
    scripts = [script.name for script in path.parent.glob("*.py")]
    near = difflib.get_close_matches(path.name, scripts, n=1)
    return f"; did you mean `{path.with_name(near[0])}`?" if near else ""


def _set_first_path(folder: Path) -> None:
    """The first entry is the folder of whatever was started; here that is the user's program, not premortem."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = str(folder)


def _main(file: str | None, loader: object) -> ModuleType:
    main = ModuleType("__main__")
    vars(main).update(__file__=file, __loader__=loader, __builtins__=builtins, __cached__=None)
    if sys.version_info < (3, 14):
        vars(main)["__annotations__"] = {}
    return main


def _execute(main: ModuleType, code: CodeType) -> BaseException | None:
    # A module of its own: classes that the script defines are pickled as `__main__.Name`, and
    # multiprocessing finds out from it how to start a child.
    sys.modules["__main__"] = main
    try:
        exec(code, vars(main))  # noqa: S102 - the user asked for exactly this
    except BaseException as error:  # noqa: BLE001 - shown as Python would show it
        return error
    return None


# --- leaving ---------------------------------------------------------------------------------


def _ending(error: BaseException) -> Ending:
    if isinstance(error, Stopped):
        return Ending(reason="stopped", exit_code=error.code, message=error.reason)
    if isinstance(error, SystemExit):
        code = _exit_code(error)
        return Ending(reason="exited" if code else "finished", exit_code=code, message=_text(error))
    with unread():  # a traceback is no metric
        site = show(error)
    interrupted = isinstance(error, KeyboardInterrupt)
    return Ending(
        reason="interrupted" if interrupted else "crashed",
        exit_code=INTERRUPTED if interrupted else 1,
        error=type(error).__name__,
        message=_text(error),
        at=site,
        compiling=_through_the_compiler(error),
    )


def _through_the_compiler(error: BaseException) -> bool:
    """Dynamo cuts the traceback of what it raises again; the exception that it was raised from has the rest."""
    chain: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in chain:
        chain.append(one)
        one = one.__cause__ or one.__context__
    files = [frame.f_code.co_filename for one in chain for frame, _ in traceback.walk_tb(one.__traceback__)]
    return any(part in file.replace(os.sep, "/") for file in files for part in _COMPILER)


def _exit_code(leaving: SystemExit) -> int:
    """As Python: a number is the code, anything else is printed."""
    code = leaving.code
    if code is None or isinstance(code, int):
        return code or 0
    _say(str(code))
    return 1


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")


def show(error: BaseException) -> Site | None:
    """Print an uncaught exception as Python does, through `sys.excepthook`, without premortem's frames.

    Returns the line of the user's that was last in it.
    """
    forget_our_frames(error)
    trace = error.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(type(error), error, trace)
    except SystemExit as leaving:
        _exit_code(leaving)
    except BaseException as second:  # noqa: BLE001 - a hook of the user's that fails, as Python reports it
        forget_our_frames(second)
        _say("Error in sys.excepthook:")
        sys.__excepthook__(type(second), second, second.__traceback__)
        _say("\nOriginal exception was:")
        sys.__excepthook__(type(error), error, trace)
    return _last_site(error)


def forget_our_frames(error: BaseException, seen: set[int] | None = None) -> None:
    """Take premortem's frames out of the traceback of an exception and of those it is chained to."""
    seen = set() if seen is None else seen
    if id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = _without_ours(error.__traceback__)
    for other in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        if isinstance(other, BaseException):
            forget_our_frames(other, seen)


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    kept = [entry for entry in _entries(trace) if not is_ours(entry.tb_frame)]
    first: TracebackType | None = None
    for entry in reversed(kept):
        entry.tb_next = first
        first = entry
    return first


def _entries(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _last_site(error: BaseException) -> Site | None:
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return Site(error.filename, error.lineno)
    sites = [
        Site(entry.tb_frame.f_code.co_filename, entry.tb_lineno, entry.tb_frame.f_code.co_name)
        for entry in _entries(error.__traceback__)
    ]
    own = [site for site in sites if not site.file.startswith("<") and not is_library(site.file)]
    return (own or sites)[-1] if sites else None


def _text(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except Exception:  # noqa: BLE001 - an exception of the user's whose own text fails
        return ""

"""A function of ours in the place of torch's: it looks like the original, and its frames are not seen.

Three parties look. Whoever asks for a signature, a name or the source (`inspect`, pickles, documentation) gets the
original's. A traceback does not show our frames: they are taken off while the exception passes (Python 3.10 cannot do
that). And `warnings.warn(..., stacklevel=2)` blames the caller, which must be the user's line and not ours: `warnings`
skips the frames of the import system, by the name of their file, so ours have such a name. A function of C's blames the frame that
called it, whatever its name is: for that call there is a frame which has the file, the line and the globals of the user's.
"""

import functools
import inspect
import os
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_CALLED = f"torch{os.sep}_ops.py"
_UNSEEN = "<frozen importlib._bootstrap of premortem>"


_HERE = "<called at the user's line>"
_MOST_LINES = 4096
_lines: dict[tuple[int, int], tuple[types.CodeType, Callable[..., Any]]] = {}  # by code and line


def at_the_users_line(original: Any) -> Any:
    """A function of C's, called as if the user's own line had called it: a warning of its own names that line."""

    def call(*args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        while frame.f_back is not None and (
            frame.f_code.co_filename.startswith(_UNSEEN) or is_ours(frame)  # the first without a call of ours
        ):
            frame = frame.f_back
        code, line = frame.f_code, frame.f_lineno or 0
        known = _lines.get((id(code), line))
        if known is None:
            if len(_lines) >= _MOST_LINES:
                _lines.clear()
            made = _call.__code__.replace(co_filename=code.co_filename, co_firstlineno=line, co_name=_HERE)
            known = _lines[id(code), line] = (code, types.FunctionType(made, frame.f_globals))
        return known[1](original, args, kwargs)

    return functools.update_wrapper(passes_on(call), original)


# fmt: off
def _call(function: Any, args: Any, kwargs: Any) -> Any: return function(*args, **kwargs)  # one line: the user's
# fmt: on


def passes_on(function: F) -> F:
    """A decorator for code of ours that calls the user's or torch's: a warning from there skips this frame."""
    if isinstance(function, types.FunctionType) and not function.__code__.co_filename.startswith(_UNSEEN):
        code = function.__code__
        function.__code__ = code.replace(co_filename=f"{_UNSEEN} {code.co_filename}")
    return function


def dress(switch: Any, original: Any, name: str) -> Any:
    """Give a function the name, the documentation and the signature of the one that it stands for."""
    functools.update_wrapper(switch, original)
    # Dynamo takes what stands here instead: it compiles the original, as if nothing were there, and finds what it has
    # compiled before. That goes for functions of C's too (attention is one).
    switch._torchdynamo_inline = original
    if not isinstance(original, types.FunctionType):
        # A function of C's is found, and pickled, as an attribute of the module that shows it.
        switch.__module__ = getattr(original, "__module__", None) or "torch"
        switch.__name__ = switch.__qualname__ = name
        return switch
    if not hasattr(
        original, "__wrapped__"
    ):  # else `inspect` follows it, or does not, as it does for the original
        switch.__signature__ = inspect.signature(original)
    return switch


def unseen(function: Any) -> Any:
    """A decorator for code of ours that torch calls, and that calls the user's (a closure) or an operation (a mode)."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            forget_our_frames(error)
            raise

    passes_on(function)
    return passes_on(call)


def forget_our_frames(error: BaseException) -> None:
    """Take our frames off the outer end of a traceback that is on its way out, and that of an operation which is only
    called from Python because a mode of ours is on."""
    trace = error.__traceback__
    while trace is not None and (
        is_ours(trace.tb_frame) or trace.tb_frame.f_code.co_filename.endswith(_CALLED)
    ):
        trace = trace.tb_next
    error.__traceback__ = trace


def is_ours(frame: types.FrameType) -> bool:
    if frame.f_code.co_name == _HERE:
        return True
    # By the module's name rather than its folder: a script that lies beside premortem is the user's.
    name = frame.f_globals.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] == "premortem"


def caller() -> types.FrameType:
    """Who called a point, asked from inside a layer: the first frame that is not ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_ours(frame):
        frame = frame.f_back
    return frame

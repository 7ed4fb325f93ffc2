"""Scripting and tracing see torch as it is: all originals are in their places meanwhile.

`torch.jit.script` reads the source of whatever a function calls and looks names up in its module: it must find torch's own
functions. A trace and an export record what is computed, and nothing of ours may be in it.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch.jit._script
import torch.jit._trace

from premortem.points.point import Subscriptions, installed


@contextmanager
def lifted() -> Iterator[None]:
    points = installed()  # none, if they are lifted already
    for point in points:
        point.hide()
    try:
        yield
    finally:
        for point in points:
            point.show()


Apart = Callable[[], AbstractContextManager[None]]


def follow(subscriptions: Subscriptions, apart: Apart) -> None:
    """Whenever torch scripts, traces or exports: lift all points, and keep `apart` what else watches."""
    script, trace = torch.jit._script, torch.jit._trace
    if hasattr(script, "_script_impl"):
        subscriptions.add(script, "_script_impl", functools.partial(_scripting, apart))
    else:
        subscriptions.add(torch.jit, "script", functools.partial(_scripting, apart))
    for owner, name in (
        (trace, "_trace_impl"),
        (trace, "trace_module"),
        (torch.jit, "trace_module"),
        (trace, "_get_trace_graph"),
        (torch.export, "export"),
    ):
        if hasattr(owner, name):
            subscriptions.add(owner, name, functools.partial(_recording, apart))


def _scripting(apart: Apart, call: Any) -> Any:
    def script(*args: Any, _frames_up: int = 0, **kwargs: Any) -> Any:
        # It finds the names of its caller by counting frames: this one, and the switch's if we are the outermost layer.
        ours = 2 if installed() else 1
        with lifted(), apart():
            return call(*args, _frames_up=_frames_up + ours, **kwargs)

    return script


def _recording(apart: Apart, call: Any) -> Any:
    def record(*args: Any, **kwargs: Any) -> Any:
        with lifted(), apart():
            return call(*args, **kwargs)

    return record

"""`torch.compile`: not at all, the whole model, the blocks that it repeats."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Learning, OneStep, RunDescription, Time
from premortem.changes.late import nn, torch

_SOME = 2


class Eager(Change):
    """The script's own `torch.compile` is left out.

    A compiled model may reorder and fuse operations, a compiler may have a bug, and it may not pay at all.
    """

    name = "eager"
    time = Time(name="without-compile", explains=True)
    one_step = OneStep(
        title="eager instead of compiled",
        size=4,
        gone="The compiled code is the cause: the same step is finite when it runs eagerly.",
        stays="Not the compiler: the eager step fails too.",
        launch="eager",
    )
    learning = Learning(
        title="not compiled",
        question="precision",
        family="compile",
        order=6,
        remedy="leave torch.compile out",
    )
    opening = ("compiled", "the script does not compile its model")

    def put_on(self) -> None:
        def compile_nothing(_call: Any) -> Any:
            def compile(model: Any = None, *_: Any, **__: Any) -> Any:  # noqa: A001
                self.touched += 1
                return model if model is not None else lambda each: each

            return compile

        self.reach.points.add(self.reach.torch, "compile", compile_nothing, order=self.reach.order)
        self.reach.points.add(
            torch.nn.Module, "compile", lambda _call: lambda *_, **__: None, order=self.reach.order
        )
        self.reach.on_root_call(self._called)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Of what was compiled before."""
        if not compiled(root):
            return run(*args, **kwargs)
        self.touched += 1
        with torch.compiler.set_stance("force_eager"):
            return getattr(root, "_orig_mod", root)._call_impl(*args, **kwargs)  # noqa: SLF001

    def how(self) -> str:
        return "leave torch.compile out"


class Compiling(Change):
    """What is called is compiled."""

    time = Time(compiles=True, explains=True)

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        return "the script compiles its model already" if run.compiled else ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._compiled: dict[int, Any] = {}

    def made(self, module: nn.Module) -> Any:
        """Its compiled call; made once, however often it is put on."""
        if id(module) not in self._compiled:
            self._compiled[id(module)] = torch.compile(module._call_impl, backend=self.run.backend)  # noqa: SLF001
        return self._compiled[id(module)]


class CompileBlocks(Compiling):
    """`torch.compile` on each of the blocks that the model repeats: they are compiled once for all, which is much quicker."""

    name = "compile-blocks"

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        return super().absent(run) or ("" if run.repeated_blocks else "the model repeats no block")

    def put_on(self) -> None:
        self._lists: list[list[nn.Module]] = []
        self.reach.on_root(self._met)

    def _met(self, root: nn.Module) -> None:
        self._lists += repeated(list(root.modules()))
        for block in self._blocks:
            block._compiled_call_impl = self.made(block)  # noqa: SLF001
            self.touched += 1
        self.reach.undoing(self._uncompiled)

    def _uncompiled(self) -> None:
        for block in self._blocks:
            block._compiled_call_impl = None  # noqa: SLF001

    @property
    def _blocks(self) -> list[nn.Module]:
        return [block for blocks in self._lists for block in blocks]

    def in_force(self) -> str:
        kinds = sorted({type(block).__name__ for block in self._blocks})
        return f"{len(self._blocks)} blocks ({', '.join(kinds)})"

    def how(self) -> str:
        return f"for block in model.{self._path()}: block.compile()"

    def _path(self) -> str:
        largest = max(self._lists, key=len)
        for root in self.reach.roots:
            for path, part in root.named_modules():
                if list(part.children()) == largest:
                    return path or "children()"
        return "blocks"


class CompileModel(Compiling):
    """`torch.compile` on every model that the script calls."""

    name = "compile"

    def put_on(self) -> None:
        self.reach.on_root_call(self._called)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self.touched += 1
        return self.made(root)(*args, **kwargs)

    def how(self) -> str:
        return "model.compile()"


def compiled(root: nn.Module) -> bool:
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    if dynamo is None:  # then nothing was compiled
        return False
    # What measures a step puts something there too, which is no compiled call: it says so.
    return any(
        isinstance(part, dynamo.OptimizedModule)
        or (part._compiled_call_impl is not None and not hasattr(part._compiled_call_impl, "premortem"))  # noqa: SLF001
        for part in root.modules()
    )


def repeated(modules: list[nn.Module]) -> list[list[nn.Module]]:
    """Lists of blocks of one class that have parts of their own; the outermost of such lists only."""
    found: list[list[nn.Module]] = []
    inside: set[int] = set()
    for module in modules:  # parents come before their children
        blocks = list(module.children())
        if id(module) in inside or len(blocks) < _SOME or len({type(block) for block in blocks}) > 1:
            continue
        if all(
            next(block.children(), None) is not None and next(block.parameters(), None) is not None
            for block in blocks
        ):
            found.append(blocks)
            inside.update(id(part) for block in blocks for part in block.modules())
    return found

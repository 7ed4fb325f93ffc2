"""torch.compile on the blocks that a model repeats."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import nn

from premortem.fit.speed.candidates.base import Candidate
from premortem.fit.speed.candidates.compile_model import already

_SOME = 2


class CompileBlocks(Candidate):
    """`torch.compile` on each of the blocks that the model repeats: they are compiled once for all, which is much quicker."""

    name: ClassVar[str] = "compile-blocks"
    compiles: ClassVar[bool] = True
    explains: ClassVar[bool] = True

    def __init__(self, scene: Any) -> None:
        super().__init__(scene)
        self._lists = repeated(scene.modules())
        self._blocks = [block for blocks in self._lists for block in blocks]
        self._compiled: dict[int, Any] = {}

    def obstacle(self) -> str:
        if already(self.scene.roots):
            return "the script compiles its model already"
        return "" if self._blocks else "the model repeats no block"

    def apply(self) -> None:
        for block in self._blocks:
            if id(block) not in self._compiled:
                self._compiled[id(block)] = torch.compile(block._call_impl, backend=self.scene.backend)
            block._compiled_call_impl = self._compiled[id(block)]

    def revert(self) -> None:
        for block in self._blocks:
            block._compiled_call_impl = None

    def in_force(self) -> str:
        kinds = sorted({type(block).__name__ for block in self._blocks})
        return f"{len(self._blocks)} blocks ({', '.join(kinds)})"

    def how(self) -> str:
        return f"for block in model.{self._path()}: block.compile()"

    def _path(self) -> str:
        largest = max(self._lists, key=len)
        for root in self.scene.roots:
            for path, part in root.named_modules():
                if list(part.children()) == largest:
                    return path or "children()"
        return "blocks"


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

"""How the batch of a stranger's script is changed without touching the script.

Looked for are, in this order: an argument that `argparse` has read, a number in the script itself, the batch size of a
DataLoader. A lever is believed when the model's input then has the size that was asked for.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import re
from dataclasses import dataclass, field
from typing import Any

from premortem.fit.larger import enlarge
from premortem.fit.patches import Patches

_NAME = re.compile(
    r"(^|_)(batch|batchsize|bs|bsz|batches_per_step|micro_batch)(_|$)|batch_?size", re.IGNORECASE
)

_LOADER = ("shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last")


@dataclass
class Lever:
    """`kind` is argument, constant or loader; `value` is what it stands at."""

    kind: str
    name: str
    value: int
    spelled: str = ""  # as a person would write it


@dataclass
class Levers:
    """Installed before the script; knows what it could have turned, and turns what it is told to."""

    turned: Lever | None = None
    to: int | None = None
    found: list[Lever] = field(default_factory=list)

    def install(self, patches: Patches, mode: Any = contextlib.nullcontext) -> None:
        """What is made within `mode()` has no contents: most of a larger batch need not be real."""
        from torch.utils.data import DataLoader

        parse, init = argparse.ArgumentParser.parse_known_args, DataLoader.__init__

        def parsed(parser: Any, *args: Any, **kwargs: Any) -> Any:
            options, rest = parse(parser, *args, **kwargs)
            for name, value in vars(options).items():
                if _is_size(value) and _NAME.search(name):
                    self._meet("argument", name, value, _spelled(parser, name))
                    if self._turns("argument", name):
                        setattr(options, name, self.to)
            return options, rest

        def loader(this: Any, dataset: Any, batch_size: Any = 1, *args: Any, **kwargs: Any) -> None:
            kwargs.update(zip(_LOADER, args, strict=False))
            if not _is_size(batch_size) or kwargs.get("batch_sampler") is not None:
                init(this, dataset, batch_size, **kwargs)
                return
            self._meet("loader", "DataLoader(batch_size=…)", batch_size)
            if self._turns("loader", "", batch_size):
                enlarge(init, this, dataset, batch_size, self.to or 1, kwargs, mode)
            elif self.turned is not None and batch_size == self.to:
                enlarge(init, this, dataset, self.turned.value, batch_size, kwargs, mode)
            else:
                init(this, dataset, batch_size, **kwargs)

        patches.put(argparse.ArgumentParser, "parse_known_args", parsed)
        patches.put(DataLoader, "__init__", loader)

    def rewritten(self, source: bytes) -> bytes:
        """The script with another number in it, line for line as it was."""
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return source
        lines = source.splitlines(keepends=True)
        for name, constant in reversed(_constants(tree)):
            self._meet("constant", name, constant.value)
            if self._turns("constant", name, constant.value) and constant.lineno == constant.end_lineno:
                line = lines[constant.lineno - 1]
                number = str(self.to).encode()
                lines[constant.lineno - 1] = (
                    line[: constant.col_offset] + number + line[constant.end_col_offset :]
                )
        return b"".join(lines)

    def _meet(self, kind: str, name: str, value: int, spelled: str = "") -> None:
        if (kind, name, value) not in {(lever.kind, lever.name, lever.value) for lever in self.found}:
            self.found.append(Lever(kind, name, value, spelled))

    def _turns(self, kind: str, name: str, value: int | None = None) -> bool:
        lever = self.turned
        if lever is None or lever.kind != kind or self.to is None:
            return False
        return (not name or lever.name == name) and value in {None, lever.value}


def candidates(found: list[Lever], batch: int) -> list[Lever]:
    """Those that may stand for the batch the model was called with, likeliest first."""
    order = {"argument": 0, "constant": 1, "loader": 2}
    fitting = [lever for lever in found if lever.value and batch % lever.value == 0]
    return sorted(fitting, key=lambda lever: (lever.value != batch, order[lever.kind]))


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _constants(tree: ast.AST) -> list[tuple[str, Any]]:
    """`batch_size = 8` and `f(batch_size=8)`, in the order of the lines."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int()) as number):
                found.append((name, number))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=int()) as number):
                found.append((name, number))
            case ast.keyword(arg=str(name), value=ast.Constant(value=int()) as number):
                found.append((name, number))
    kept = [(name, number) for name, number in found if _NAME.search(name) and _is_size(number.value)]
    return sorted(kept, key=lambda pair: (pair[1].lineno, pair[1].col_offset))


def _spelled(parser: argparse.ArgumentParser, name: str) -> str:
    """The option as its parser knows it: the long form, or the only one."""
    for action in parser._actions:
        if action.dest == name and action.option_strings:
            return max(action.option_strings, key=lambda option: option.startswith("--"))
    return f"the argument `{name}`"

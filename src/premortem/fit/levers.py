"""How the batch of a stranger's script, or the side of its images, is changed without touching the script.

Looked for are, in this order: an argument that `argparse` has read, a number in the script itself, what a DataLoader
gives. A lever is believed when the model's input then has the size that was asked for.
"""

import argparse
import ast
import contextlib
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from premortem.files.syntax import last_name
from premortem.fit.larger_loaders import enlarge, lengthen
from premortem.points import Subscriptions

_NAME = re.compile(
    r"(^|_)(batch|batchsize|bs|bsz|batches_per_step|micro_batch)(_|$)|batch_?size", re.IGNORECASE
)

_LOADER = ("shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last")


BATCH, SIDE = "batch", "side"
_LEAST_SIDE = 8
_CUTS = re.compile(r"crop|resize", re.IGNORECASE)  # functions whose one number is a side


@dataclass
class Lever:
    """`kind` is argument, constant, literal or loader; `value` is what it stands at."""

    kind: str
    name: str
    value: int
    spelled: str = ""  # as a person would write it
    what: str = BATCH  # that it stands for, or may
    samples: int = 0  # of the data that a DataLoader reads, where that is known


@dataclass
class Levers:
    """Installed before the script; knows what it could have turned, and turns what the order names."""

    turned: Lever | None = None
    to: int | None = None
    found: list[Lever] = field(default_factory=list)
    reached: Callable[[str], None] = lambda _: (
        None
    )  # called with where the script is: may return another lever to turn

    def install(self, points: Subscriptions, mode: Any = contextlib.nullcontext) -> None:
        """What is made within `mode()` has no contents: most of a larger batch need not be real."""
        from torch.utils.data import DataLoader

        parse, init = argparse.ArgumentParser.parse_known_args, DataLoader.__init__

        def parsed(parser: Any, *args: Any, **kwargs: Any) -> Any:
            options, rest = parse(parser, *args, **kwargs)
            for name, value in vars(options).items():
                if _is_size(value) and _NAME.search(name):
                    self._meet("argument", name, value, _spelled(parser, name))
                elif side := _side(value):
                    self._meet("argument", name, side, _spelled(parser, name), SIDE)
            if any(lever.kind == "argument" for lever in self.found):
                self.reached("argument")
            for name, value in vars(options).items():
                if self._turns("argument", name):
                    many = isinstance(value, (list, tuple))
                    setattr(options, name, type(value)([self.to] * len(value)) if many else self.to)
            return options, rest

        def loader(this: Any, dataset: Any, batch_size: Any = 1, *args: Any, **kwargs: Any) -> None:
            kwargs.update(zip(_LOADER, args, strict=False))
            self.reached("loader")
            lever = self.turned
            if lever is not None and lever.kind == "loader" and lever.what == SIDE:
                kwargs = lengthen(kwargs, lever.value, self.to or 1, mode)
            if not _is_size(batch_size) or kwargs.get("batch_sampler") is not None:
                init(this, dataset, batch_size, **kwargs)
                return
            self._meet("loader", "DataLoader(batch_size=…)", batch_size, samples=_length(dataset))
            if self._turns("loader", "", batch_size):
                enlarge(init, this, dataset, batch_size, self.to or 1, kwargs, mode)
            elif lever is not None and lever.what == BATCH and batch_size == self.to:
                enlarge(init, this, dataset, lever.value, batch_size, kwargs, mode)
            else:
                init(this, dataset, batch_size, **kwargs)

        points.replace(argparse.ArgumentParser, "parse_known_args", parsed)
        points.replace(DataLoader, "__init__", loader)

    def rewritten(self, source: bytes) -> bytes:
        """The script with another number in it, line for line as it was."""
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return source
        lines = source.splitlines(keepends=True)
        for kind, name, constant, what in reversed([*_constants(tree), *_literals(tree)]):
            self._meet(kind, name, constant.value, what=what)
        turned = [
            number
            for kind, name, number, _ in (*_constants(tree), *_literals(tree))
            if self._turns(kind, name, number.value) and number.lineno == number.end_lineno
        ]
        # From the end, so that the places before stay where they are.
        for number in sorted(turned, key=lambda number: (number.lineno, number.col_offset), reverse=True):
            line = lines[number.lineno - 1]
            new = str(self.to).encode()
            lines[number.lineno - 1] = line[: number.col_offset] + new + line[number.end_col_offset :]
        return b"".join(lines)

    def _meet(
        self, kind: str, name: str, value: int, spelled: str = "", what: str = BATCH, samples: int = 0
    ) -> None:
        new = Lever(kind, name, value, spelled, what, samples)
        if (kind, name, value) not in {(lever.kind, lever.name, lever.value) for lever in self.found}:
            self.found.append(new)

    def _turns(self, kind: str, name: str, value: int | None = None) -> bool:
        lever = self.turned
        if (
            lever is None
            or lever.kind != kind
            or self.to is None
            or (kind == "loader" and lever.what == SIDE)
        ):
            return False
        return (not name or lever.name == name) and value in {None, lever.value}


def samples(found: list[Lever], value: int) -> int:
    """How many there are for batches of this size: of the largest data set that is read so; 0 when that is not known."""
    return max(
        (lever.samples for lever in found if lever.kind == "loader" and lever.value == value), default=0
    )


def candidates(found: list[Lever], batch: int) -> list[Lever]:
    """Those that may stand for the batch the model was called with, likeliest first."""
    order = {"argument": 0, "constant": 1, "loader": 2}
    fitting = [lever for lever in found if lever.what == BATCH and lever.value and batch % lever.value == 0]
    return sorted(fitting, key=lambda lever: (lever.value != batch, order[lever.kind]))


def sides(found: list[Lever], side: int) -> list[Lever]:
    """Those that may stand for the side of the model's input, likeliest first."""
    order = {"argument": 0, "constant": 1, "literal": 2}
    fitting = [lever for lever in found if lever.what == SIDE and lever.value == side]
    fitting.sort(key=lambda lever: order[lever.kind])
    if any(lever.kind == "loader" for lever in found):
        fitting.append(Lever("loader", "the size of the images in its data", side, what=SIDE))
    return fitting


def _length(dataset: Any) -> int:
    try:
        return len(dataset)
    except Exception:  # noqa: BLE001 - a data set of the script's, of any kind
        return 0


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _side(value: Any) -> int | None:
    """A number, or several that are the same."""
    if isinstance(value, (list, tuple)) and len(value) > 1 and len(set(map(str, value))) == 1:
        value = value[0]
    return value if _is_size(value) and value >= _LEAST_SIDE else None


def _constants(tree: ast.AST) -> list[tuple[str, str, Any, str]]:
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
    kept = [("constant", name, number, BATCH if _NAME.search(name) else SIDE)
            for name, number in found if _is_size(number.value)]  # fmt: skip
    kept = [row for row in kept if row[3] == BATCH or _side(row[2].value)]
    return sorted(kept, key=lambda row: (row[2].lineno, row[2].col_offset))


def _literals(tree: ast.AST) -> list[tuple[str, str, Any, str]]:
    """The same number twice in a row, as in `randn(8, 3, 256, 256)`, and the one of `RandomCrop(256)`."""
    found: dict[tuple[int, int], Any] = {}
    for node in ast.walk(tree):
        given: list[ast.expr] = []
        if isinstance(node, ast.Call):
            given = node.args
            if len(given) == 1 and _CUTS.search(last_name(node)):
                given = [given[0], given[0]]
        elif isinstance(node, (ast.Tuple, ast.List)):
            given = node.elts
        for one, two in itertools.pairwise(given):
            match one, two:
                case ast.Constant(value=int(first)), ast.Constant(value=int(second)) if first == second:
                    if _side(first):
                        found |= {(number.lineno, number.col_offset): number for number in (one, two)}
    return [("literal", str(number.value), number, SIDE) for _, number in sorted(found.items())]


def _spelled(parser: argparse.ArgumentParser, name: str) -> str:
    """The option as its parser knows it: the long form, or the only one."""
    for action in parser._actions:
        if action.dest == name and action.option_strings:
            return max(action.option_strings, key=lambda option: option.startswith("--"))
    return f"the argument `{name}`"

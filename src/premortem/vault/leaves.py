"""The leaves of a checkpoint by their dotted paths, and which branches look like what.

{"model": {"fc.weight": tensor}, "optimizer": {"state": {0: {"exp_avg": tensor}}}, "epoch": 3}
→  model.fc.weight, optimizer.state.0.exp_avg        tensors
epoch = 3                                         plain
model: a module, optimizer: an optimizer          state dicts
"""

import posixpath
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from premortem.errors import Refused
from premortem.vault.stubs import Named, Opaque, TensorStub

MOST_LEAVES = 2_000_000
MOST_REPEATS = 50_000  # a small file can name the same list again and again
MOST_DEPTH = 64
_LONG_NUMBER = 1024  # bits
_UNFOLDS = "its structure unfolds into millions of values; it is made to fill the memory"


@dataclass(frozen=True, slots=True)
class StateDict:
    """A branch that a `state_dict()` has written, by the look of it."""

    path: str  # "" for the whole file
    kind: str  # module, averaged, optimizer, scheduler or scaler
    keys: dict[str, str] = field(default_factory=dict)  # its own key → the dotted path of the tensor


def join(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)


def flatten(tree: Any) -> tuple[dict[str, TensorStub], dict[str, Any]]:
    """Tensors and plain leaves by path. A list of numbers is one leaf."""
    tensors: dict[str, TensorStub] = {}
    plain: dict[str, Any] = {}
    taken: Counter[str] = Counter()
    for path, leaf in _walk(tree, "", (), Counter()):
        if len(tensors) + len(plain) >= MOST_LEAVES:
            raise Refused(_UNFOLDS)
        into: dict[str, Any] = tensors if isinstance(leaf, TensorStub) else plain
        into[_free(path, taken)] = leaf
    return tensors, plain


def state_dicts(tree: Any) -> Iterator[StateDict]:
    """Every branch that looks like a state dict, from the root down."""
    yield from _branches(tree, "", (), Counter())


def looks_like(branch: Any) -> str:
    """The kind of a branch, or "" when it is none of them."""
    if isinstance(branch, Opaque):
        return "module" if _is_module(branch) else ""
    if not isinstance(branch, Mapping):
        return ""
    if "param_groups" in branch and "state" in branch and isinstance(branch["param_groups"], (list, tuple)):
        return "optimizer"
    if "last_epoch" in branch and {"base_lrs", "_step_count", "_last_lr", "best", "_schedulers"} & set(
        branch
    ):
        return "scheduler"
    if {"scale", "growth_factor", "backoff_factor"} <= set(branch):
        return "scaler"
    own = [value for value in branch.values() if isinstance(value, TensorStub)]
    rest = [
        v for k, v in branch.items() if not isinstance(v, TensorStub) and not str(k).endswith("_extra_state")
    ]
    if not own or not all(isinstance(key, str) for key in branch):
        return ""
    if rest and 2 * sum(bool(value.shape) for value in own) < len(branch):
        return ""  # a handful of numbers with a score among them
    if any(isinstance(value, (Mapping, list, tuple, Opaque)) for value in rest):
        return ""
    averaged = "n_averaged" in branch and any(key.startswith("module.") for key in branch)
    return "averaged" if averaged else "module"


def _branches(tree: Any, path: str, above: tuple[int, ...], visits: Counter[int]) -> Iterator[StateDict]:
    """What contains itself, or is too deep, holds no more of them."""
    if id(tree) in above or len(above) >= MOST_DEPTH or not isinstance(tree, (Mapping, list, tuple, Opaque)):
        return
    _visit(tree, visits)
    kind = looks_like(tree)
    if kind:
        names = {name: join(path, name) for name in flatten(tree)[0]}
        yield StateDict(path, kind, names)
        return
    for key, value in children(tree):
        yield from _branches(value, join(path, key), (*above, id(tree)), visits)


def _visit(node: Any, visits: Counter[int]) -> None:
    """Raises Refused when the same nodes are met again and again."""
    visits[id(node)] += 1
    if visits[id(node)] > 1:
        visits[0] += 1  # no object has this identity
        if visits[0] > MOST_REPEATS:
            raise Refused(_UNFOLDS)


def _walk(node: Any, path: str, above: tuple[int, ...], visits: Counter[int]) -> Iterator[tuple[str, Any]]:
    """Leaves with their paths. What contains itself, or is too deep, is a leaf."""
    if isinstance(node, TensorStub):
        yield path, node
        return
    if (found := number(node)) is not None:
        yield path, found
        return
    below = () if id(node) in above or len(above) >= MOST_DEPTH else tuple(children(node))
    if not below:
        yield path, node
        return
    if isinstance(node, Opaque) and not _is_module(node):
        yield path, node
    _visit(node, visits)
    for key, value in below:
        yield from _walk(value, join(path, key), (*above, id(node)), visits)


def children(node: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(node, Mapping):
        yield from node.items()
    elif isinstance(node, (list, tuple)):
        if any(isinstance(item, (TensorStub, Mapping, list, tuple, Opaque)) for item in node):
            yield from enumerate(node)
    elif isinstance(node, Opaque):
        yield from _inside(node)


def _inside(node: Opaque) -> Iterator[tuple[Any, Any]]:
    state = node.state
    if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):
        state = {**(state[0] or {}), **state[1]} if isinstance(state[0] or {}, dict) else state[1]  # slots
    if isinstance(state, Mapping) and _is_module(node):
        for part in ("_parameters", "_buffers", "_modules"):
            inner = state.get(part)
            if isinstance(inner, Mapping):
                yield from ((key, value) for key, value in inner.items() if value is not None)
        return
    if isinstance(state, Mapping):
        yield from state.items()
    yield from node.pairs.items()
    yield from enumerate(node.items)
    yield from (
        (f"({place})", arg) for place, arg in enumerate(node.given) if isinstance(arg, (TensorStub, dict))
    )


def _is_module(node: Opaque) -> bool:
    return isinstance(node.state, Mapping) and {"_parameters", "_modules"} <= set(node.state)


def _free(path: str, taken: Counter[str]) -> str:
    """{"a.b": …, "a": {"b": …}} has one path for two leaves."""
    name = path or "value"
    while taken[name]:
        taken[path] += 1
        name = f"{path}~{max(taken[path], 2)}"
    taken[name] += 1
    return name


def number(node: Any) -> Any:
    """A numpy number, which is what `best = acc.mean()` leaves in many a checkpoint."""
    if not isinstance(node, Opaque) or node.made_by.name != "scalar" or len(node.given) < 2:
        return None
    kind, raw = node.given[:2]
    code = kind.given[0] if isinstance(kind, Opaque) and kind.given else ""
    form = {"f8": "d", "f4": "f", "f2": "e", "i8": "q", "i4": "i", "i2": "h", "i1": "b", "u8": "Q", "b1": "?"}
    if not isinstance(raw, bytes) or code not in form or struct.calcsize(form[code]) != len(raw):
        return None
    order = kind.state[1] if isinstance(kind.state, tuple) and len(kind.state) > 1 else "<"
    return struct.unpack((">" if order == ">" else "<") + form[code], raw)[0]


def shown(leaf: Any) -> Any:
    """A plain leaf for people and JSON: objects that were not created are shown by their class."""
    if isinstance(leaf, Named):
        return str(leaf)
    if isinstance(leaf, Opaque):
        return _shown_object(leaf)
    if isinstance(leaf, (bytes, bytearray)):
        return f"<{len(leaf):,} bytes>"
    if isinstance(leaf, int) and leaf.bit_length() > _LONG_NUMBER:
        return f"<number of {leaf.bit_length():,} bits>"  # Python refuses to print it
    if isinstance(leaf, (list, tuple, set, Mapping)):
        if any(isinstance(item, (list, tuple, set, Mapping, Opaque)) for item in leaf) or isinstance(
            leaf, Mapping
        ):
            # It contains itself, or is deeper than anybody wants to see.
            return f"<{type(leaf).__name__} of {len(leaf):,}>" if leaf else {}
        return [shown(item) for item in leaf]
    return leaf


def _shown_object(leaf: Opaque) -> str:
    if leaf.made_by.name.endswith("Path"):
        return posixpath.join("", *(each for each in leaf.given if isinstance(each, str))) or "."
    if leaf.made_by.name == "_reconstruct":
        sizes = leaf.state[1] if isinstance(leaf.state, tuple) and len(leaf.state) > 1 else ()
        if not isinstance(sizes, tuple) or not all(
            isinstance(size, int) and size < 1 << 63 for size in sizes
        ):
            return "<numpy array>"
        return f"<numpy array {'×'.join(map(str, sizes[:64]))}>"
    words = [
        str(shown(item))
        for item in leaf.given
        if isinstance(item, (str, int, float)) and not isinstance(item, bool)
    ]
    return f"<{' '.join([str(leaf.made_by), *words])}>"

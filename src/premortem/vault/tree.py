"""The state of an object as JSON and tensors, without a pickle.

    {"lr": 0.1, "betas": (0.9, 0.999), "exp_avg": tensor}
        ⇄  {"lr": 0.1, "betas": {"$": "tuple", "v": [0.9, 0.999]}, "exp_avg": {"$": "tensor", "v": "exp_avg"}}
           and the tensors by their dotted paths

What JSON has no word for is an object with a `$`. What cannot be written without a pickle (a function, a stranger's
class) is left out and listed: reading a checkpoint must not run code.
"""

import base64
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

MARK = "$"
_AS_THEY_ARE = {type(None), bool, int, str}


class _LeftOut:
    def __repr__(self) -> str:
        return "<left out>"


LEFT_OUT = _LeftOut()


class Taken:
    """What was taken apart: tensors by path, and sentences about what could not be."""

    def __init__(self) -> None:
        self.tensors: dict[str, Any] = {}
        self.left_out: list[str] = []

    def apart(self, value: Any, path: str = "") -> Any:
        """The JSON of a value; its tensors are collected on the way."""
        kind = type(value)
        if kind in _AS_THEY_ARE:
            return value
        if kind.__name__ in {"Tensor", "Parameter"} and kind.__module__.startswith("torch"):
            return self._tensor(value, path)  # most of what there is, and training waits
        if kind is float:
            return value if math.isfinite(value) else _word("float", str(value))
        if isinstance(value, Mapping):
            return self._mapping(value, path)
        if isinstance(value, (list, tuple)):
            return self._sequence(value, path)
        if isinstance(value, (set, frozenset)):
            return _word(
                "set", [self.apart(each, f"{path}.{i}") for i, each in enumerate(sorted(value, key=repr))]
            )
        if isinstance(value, (bytes, bytearray)):
            return _word("bytes", base64.b64encode(value).decode())
        if kind is complex:
            return _word("complex", [repr(value.real), repr(value.imag)])
        return self._foreign(value, path)

    def _mapping(self, value: Mapping[Any, Any], path: str) -> Any:
        counter = isinstance(value, Counter)
        if not counter and all(isinstance(key, str) for key in value) and MARK not in value:
            return {key: self.apart(item, _join(path, key)) for key, item in value.items()}
        pairs = [[self.apart(key), self.apart(item, _join(path, str(key)))] for key, item in value.items()]
        return _word("counter" if counter else "dict", pairs)

    def _sequence(self, value: Any, path: str) -> Any:
        items = [self.apart(item, _join(path, str(i))) for i, item in enumerate(value)]
        if isinstance(value, list):
            return items
        return _word("size" if type(value).__name__ == "Size" else "tuple", items)

    def _foreign(self, value: Any, path: str) -> Any:
        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        if torch is not None:
            if isinstance(value, torch.Tensor):
                return self._tensor(value, path)
            if isinstance(value, torch.dtype):
                return _word("dtype", str(value).removeprefix("torch."))
            if isinstance(value, torch.device):
                return _word("device", str(value))
        if numpy is not None and torch is not None:
            if isinstance(value, numpy.generic) and value.dtype.kind in "biuf":
                return _word("number", [str(value.dtype), self.apart(value.item())])
            if isinstance(value, numpy.ndarray) and value.dtype.kind in "biuf" and value.dtype.isnative:
                return _word("array", [str(value.dtype), self._collect(_of_array(value), path)])
        if isinstance(value, str):  # an enum, a class with nothing to it: what it is underneath
            return str.__str__(value)
        if isinstance(value, (int, float)):
            return self.apart(int(value) if isinstance(value, int) else float(value), path)
        return self._leave(value, path)

    def _tensor(self, tensor: Any, path: str) -> Any:
        why = unstorable(tensor)
        if why:
            self.left_out.append(f"`{path}` {why}")
            return _word("left out", "tensor")
        return _word("tensor", self._collect(tensor, path))

    def _collect(self, tensor: Any, path: str) -> str:
        key, number = path or "value", 1
        while key in self.tensors:  # {"a.b": …, "a": {"b": …}}
            number += 1
            key = f"{path}~{number}"
        self.tensors[key] = tensor
        return key

    def _leave(self, value: Any, path: str) -> Any:
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        self.left_out.append(f"`{path}` is a {kind}, which cannot be stored without a pickle")
        return _word("left out", kind)


def together(tree: Any, tensors: Callable[[str], Any]) -> Any:
    """The value again. `tensors` gives a tensor by its path. What was left out is not there."""
    if isinstance(tree, list):
        return [None if each is LEFT_OUT else each for each in (together(item, tensors) for item in tree)]
    if not isinstance(tree, dict):
        return tree
    if MARK not in tree:
        items = ((key, together(item, tensors)) for key, item in tree.items())
        return {key: item for key, item in items if item is not LEFT_OUT}
    return _read(str(tree[MARK]), tree.get("v"), tensors)


def _read(word: str, value: Any, tensors: Callable[[str], Any]) -> Any:
    if word == "tensor":
        return tensors(value)
    if word == "left out":
        return LEFT_OUT
    if word in {"dict", "counter"}:
        pairs = ((together(key, tensors), together(item, tensors)) for key, item in value)
        read = {key: item for key, item in pairs if item is not LEFT_OUT}
        return Counter(read) if word == "counter" else read
    if word in {"tuple", "size", "set"}:
        items = together(value, tensors)
        return set(items) if word == "set" else tuple(items)
    if word == "float":
        return float(value)
    if word == "bytes":
        return base64.b64decode(value)
    if word == "complex":
        return complex(float(value[0]), float(value[1]))
    return _read_foreign(word, value, tensors)


def _read_foreign(word: str, value: Any, tensors: Callable[[str], Any]) -> Any:
    if word in {"dtype", "device"}:
        import torch

        if word == "device":
            return torch.device(value)
        kind = getattr(torch, str(value), None)
        if not isinstance(kind, torch.dtype):  # the file may be a stranger's, and torch has more than types
            raise ValueError(f"there is no type `{value}`")
        return kind
    if word in {"number", "array"}:
        import numpy as np

        numbers = np.dtype(value[0])
        if word == "number":
            return numbers.type(together(value[1], tensors))
        return tensors(value[1]).numpy().view(numbers)
    raise ValueError(f"`{word}` is not a word of this format")


def unstorable(tensor: Any) -> str:
    """Why a tensor cannot be stored as it is; empty when it can."""
    import torch

    if hasattr(tensor, "full_tensor"):
        return "is spread over several processes; give its full state"
    if tensor.is_meta:
        return "has no values (it is on the meta device)"
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        return "is sparse, nested or quantized, which safetensors cannot hold"
    return ""


def _of_array(array: Any) -> Any:
    import torch

    # torch has a counterpart for every width, though not for every sign; the bits are what is kept.
    signed = (
        array.view(f"i{array.dtype.itemsize}")
        if array.dtype.kind == "u" and array.dtype.itemsize > 1
        else array
    )
    return torch.from_numpy(signed.copy())


def _word(word: str, value: Any) -> dict[str, Any]:
    return {MARK: word, "v": value}


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key

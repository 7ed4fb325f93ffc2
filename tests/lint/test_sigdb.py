"""Reading signatures out of wheels: how names and calls are followed, without importing anything."""

import io
import textwrap
import zipfile

import pytest

from premortem.lint.signatures import Table

from sigdb.encode import encode, spans
from sigdb.inventory import Distribution, inventory
from sigdb.namespaces import Wheel
from sigdb.natives import Natives
from sigdb.wheels import _numbers

OPERATORS = """
- func: conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt groups=1) -> Tensor
- func: fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor
- func: fft_fft.out(Tensor self, SymInt? n=None, int dim=-1, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)
- func: fft_freq(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
"""
FILES = {
    "torch/__init__.py": """
        from typing import TYPE_CHECKING
        from torch._C import *
        if TYPE_CHECKING:
            from torch._C._VariableFunctions import *
        from torch import nn, optim
        from ._old import _symeig as symeig
        from ._moved import Moved as Moved
        """,
    "torch/_C/__init__.pyi": "class device: ...\nclass TensorBase:\n    def add(self, other, *, alpha=1): ...\n",
    "torch/_C/_VariableFunctions.pyi": """
        from typing import overload
        @overload
        def sum(input, *, dtype=None): ...
        @overload
        def sum(input, dim, keepdim=False): ...
        def conv2d(input, weight): ...
        """,
    "torch/_old.py": """
        def _symeig(input, upper=True):
            \"\"\"Words.\"\"\"
            raise RuntimeError("This function was deprecated and is now removed")
        """,
    "torch/_moved.py": "class Moved:\n    def __init__(self, *, a): ...\n",
    "torch/optim/__init__.py": "from .adam import Adam\nfrom .sgd import *\n",
    "torch/optim/adam.py": """
        from .optimizer import Optimizer
        import functools
        def _helper(): ...
        class Adam(Optimizer):
            def __init__(self, params, lr=1e-3, *, fused=None): ...
        """,
    "torch/optim/sgd.py": "__all__ = ['SGD']\nclass SGD:\n    def __init__(self, params, lr): ...\nclass Hidden: ...\n",
    "torch/optim/optimizer.py": "class Optimizer:\n    def __init__(self, params, defaults): ...\n",
    "torch/nn/__init__.py": """
        from .modules import *
        from .builtins import conv2d, pool, fft, freq
        """,
    "torch/nn/modules.py": """
        from dataclasses import dataclass, field
        from typing import NamedTuple, Generic, TypeVar
        import somewhere
        T = TypeVar("T")
        class Module:
            def __init__(self, *args, **kwargs): ...
        class _Norm(Module):
            def __init__(self, num_features, eps=1e-5): ...
        class BatchNorm(_Norm): ...
        class Base(Module):
            def __init__(self, mode, hidden, bias=True): ...
        class LSTM(Base):
            def __init__(self, *args, **kwargs):
                self.kind = kwargs.pop("kind", None)
                super().__init__("LSTM", *args, **kwargs)
        class Eats(Base):
            def __init__(self, **kwargs):
                log(kwargs)
                super().__init__("Eats", **kwargs)
        class Mixin:
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
        @dataclass
        class Settings(Generic[T]):
            rate: float
            hidden: int = field(default=1, init=False)
        @dataclass
        class More(Settings):
            steps: int = 3
        class Pair(NamedTuple):
            a: int
            b: int
        class Foreign(somewhere.Thing): ...
        class Plain: ...
        @somewhere.changes
        def decorated(a): ...
        @somewhere.deprecate_kwarg("old", new_name="new")
        def renamed(new): ...
        """,
    "torch/nn/builtins.py": """
        import torch
        from torch._C import _add_docstr, _fft
        def _pool_with_indices(input, size, return_indices=False): ...
        def _pool(input, size, ceil_mode=False): ...
        pool = boolean_dispatch(arg_name="return_indices", if_true=_pool_with_indices, if_false=_pool)
        conv2d = _add_docstr(torch.conv2d, r'''
        conv2d(input, weight, bias=None, stride=1, groups=1) -> Tensor

        Words about it.
        ''')
        fft = _add_docstr(_fft.fft_fft, "fft(input, n=None, dim=-1, norm=None, *, out=None) -> Tensor")
        freq = _add_docstr(_fft.fft_freq, "freq(n) -> Tensor")
        """,
    "torchgen/packaged/ATen/native/native_functions.yaml": OPERATORS,
}
TORCH = Distribution("torch", (2, 0), r"torch(\..*)?", with_methods=("torch._C.TensorBase",))


def wheel(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, textwrap.dedent(text))
    return Wheel(zipfile.ZipFile(buffer))


@pytest.fixture(scope="module")
def found():
    return inventory(wheel(FILES), TORCH)


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("torch.optim.Adam", {"params", "lr", "fused"}),
        ("torch.optim.SGD", {"params", "lr"}),
        ("torch.nn.BatchNorm", {"num_features", "eps"}),  # from a private base
        ("torch.nn.LSTM", {"mode", "hidden", "bias", "kind"}),  # handed on, but for what is taken out
        ("torch.nn.Eats", {"**"}),  # something else happens to the keywords
        ("torch.nn.Mixin", {"**"}),
        ("torch.nn.Settings", {"rate"}),
        ("torch.nn.More", {"rate", "steps"}),
        ("torch.nn.Pair", {"a", "b"}),
        ("torch.nn.Foreign", {"?"}),
        ("torch.nn.Plain", set()),
        ("torch.nn.decorated", {"?"}),
        ("torch.nn.renamed", {"new", "old"}),
        ("torch.nn.pool", {"input", "size", "return_indices", "ceil_mode"}),
        ("torch.nn.conv2d", {"~", "input", "weight", "bias", "stride", "groups"}),
        ("torch.nn.fft", {"~", "input", "n", "dim", "norm", "out"}),
        ("torch.nn.freq", {"~", "n", "dtype", "layout", "device", "pin_memory", "requires_grad"}),
        ("torch.sum", {"~", "input", "dtype", "dim", "keepdim"}),  # all overloads of a stub
        ("torch.symeig", {"input", "upper", "!"}),
        ("torch.Moved", {"a"}),
        ("torch.device", {"?"}),
        ("torch.optim", {"/"}),
        ("torch._C.TensorBase.add", {"~", "other", "alpha"}),
    ],
)
def test_what_a_name_accepts(found, name, items):
    assert set(found[name].items) == items


def test_what_is_not_a_name_of_the_package(found):
    assert "torch.optim.Hidden" not in found  # not in the `__all__` it is imported through
    assert found["torch.optim.adam.Optimizer"].incidental
    assert not any(
        part.startswith("_") for name in found if "TensorBase" not in name for part in name.split(".")
    )


def test_the_operator_list():
    natives = Natives(OPERATORS)
    assert natives.keywords("fft_fft") == ("input", "n", "dim", "norm", "out")
    assert natives.keywords("nothing") == ()


@pytest.mark.parametrize(
    ("present", "within", "text"),
    [
        ("1111", "1111", ""),
        ("0011", "1111", "2-"),
        ("1100", "1111", "-2"),
        ("0110", "1111", "1-3"),
        ("1011", "1111", "-1,2-"),
        ("0011", "0011", ""),
        ("1001", "1011", "-2,3-"),
        ("0010", "0111", "2-3"),
    ],
)
def test_spans(present, within, text):
    assert spans([c == "1" for c in present], [c == "1" for c in within]) == text


def test_what_is_written_is_what_is_read(found):
    old = {name: call for name, call in found.items() if name != "torch.Moved"}
    text = encode("torch", {"2.0.1": old, "2.1.2": found})
    table = Table(text)
    assert table.minors == ((2, 0), (2, 1))
    assert table.find("torch.Moved").exists((2, 1))
    assert not table.find("torch.Moved").exists((2, 0))
    assert set(table.find("torch.optim.Adam").keywords((2, 0))) == {"params", "lr", "fused"}
    assert table.find("torch.optim.adam.Optimizer") is None
    assert not table.find("torch.symeig").exists((2, 0))


def test_the_order_of_releases():
    mixed = ["2.10.0", "2.0.9", "2.0.1.post0", "2.0.1"]
    assert sorted(mixed, key=_numbers) == ["2.0.1", "2.0.1.post0", "2.0.9", "2.10.0"]

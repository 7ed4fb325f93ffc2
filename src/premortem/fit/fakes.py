"""Tensors without contents that stand for tensors on the card.

To torch they are tensors of the CPU (autograd over fake CUDA tensors is refused where there is no GPU); to the script
they are on `cuda:0`. Which is which is known by their storage, so views and gradients need no care.
"""

import sys
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from premortem.fit import autograd_differences, shares
from premortem.fit.gpus import Gpu
from premortem.fit.kernels import Kernels
from premortem.fit.ledger import Ledger
from premortem.fit.values import Values

CARD = torch.device("cuda", 0)
HOST = torch.device("cpu")
_WEIGHT = 32 << 10  # bytes: what a module makes that is larger has no contents from the start
_HOST_BUDGET = 512 << 20  # bytes of real tensors on the host
_aten = torch.ops.aten


class Fakes(TorchDispatchMode):
    """Every operation of the script goes through here."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.gpu = gpu
        self.fake = FakeTensorMode(allow_non_fake_inputs=True)
        self.ledger = Ledger()
        self.kernels = Kernels(self.ledger, gpu)
        self.values = Values()
        self.going_down = False  # to the host, as the script asked
        self.lazy = False  # a module waits for its first call
        self.inside = 0  # in the machinery of fakes, which must see the CPU
        self.operations = 0
        self._host_bytes = 0
        autograd_differences.counts()  # measured before anything else is under way

    def on_card(self, tensor: Any) -> bool:
        return isinstance(tensor, FakeTensor) and self.ledger.holds(tensor)

    def move(self, tensor: Tensor) -> None:
        """A parameter goes to the card without becoming another object."""
        self.ledger.born(tensor, "to")

    def faked(self, tensor: Tensor) -> Tensor:
        if isinstance(tensor, FakeTensor):
            return tensor
        self.inside += 1
        try:
            return self.fake.from_tensor(tensor)
        finally:
            self.inside -= 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        owned = autograd_differences.overwritten(func, args, kwargs)
        if owned is not None:
            self.values.forget(owned)
            return owned
        if autograd_differences.copied(func, args) and self.ledger.holds(args[0]):
            self.ledger.copied(args[0], "as_strided_backward")
        kwargs = dict(kwargs or {})
        given = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, Tensor)]
        fake = any(isinstance(t, FakeTensor) for t in given)
        card = self._asked_for_card(kwargs, given)
        if not fake and not card and not self._too_large(func, given, args):
            return func(*args, **kwargs)
        name = func._schema.name.removeprefix("aten::")
        self.operations += 1
        answer = self._answer(func, name, args)
        if answer is not None:
            return answer
        out = self._run(func, types, args, kwargs)
        self.values.follow(func, name, args, kwargs, out)
        if card:
            self.kernels.ran(name, args, out, host=not any(map(self.on_card, given)) and bool(given))
        return out

    def _asked_for_card(self, kwargs: dict[str, Any], given: list[Tensor]) -> bool:
        asked = kwargs.get("device")
        if asked is not None and asked.type == "cuda":
            kwargs["device"] = HOST
            return True
        if self.going_down:
            return False
        if given:
            # torch's own C++ repeats the device of its argument, which to it is the CPU.
            return any(map(self.on_card, given))
        return torch._C._current_autograd_node() is not None

    def _run(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.inside += 1
        try:
            with self.fake:
                return func(*args, **kwargs)
        finally:
            self.inside -= 1

    def _too_large(self, func: Any, given: list[Tensor], args: Any) -> bool:
        """A tensor made on the host whose contents are not needed: a weight before it is moved."""
        if given or not args or not isinstance(args[0], (list, tuple)):
            return False
        size = 4
        for length in args[0]:
            if not isinstance(length, int):
                return False
            size *= length
        if size > _WEIGHT and _in_constructor():
            return True
        if self._host_bytes + size > _HOST_BUDGET:
            return True
        self._host_bytes += size
        return False

    # -- operations whose result depends on values ---------------------------------------

    def _answer(self, func: Any, name: str, args: Any) -> Any:
        if name == "_local_scalar_dense":
            return self.values.number(args[0], self.place())
        if name == "nonzero":
            return self._indices(args[0])
        if name == "masked_select":
            indices = self._indices(args[1])
            with self:
                return args[0].new_empty(len(indices))
        if name in {"index", "index_put", "index_put_", "_unsafe_index"} and self._masks(args[1]):
            with self:
                return func(args[0], self._unmasked(args[0], args[1]), *args[2:])
        if name in {"_unique2", "unique_consecutive", "unique_dim"}:
            return self._unique(func, args)
        if name == "_pack_padded_sequence":
            return self._packed(*args)
        if name == "bincount":
            return self._counts(*args)
        if name == "_ctc_loss":
            return self._alignments(*args[:4])
        if name == "equal":
            first, second = self.values.known(args[0]), self.values.known(args[1])
            return bool(first is not None and second is not None and torch.equal(first, second))
        return None

    def _where(self, tensor: Tensor) -> torch.device:
        return CARD if self.on_card(tensor) else HOST

    def _indices(self, mask: Tensor) -> Tensor:
        if not isinstance(mask, FakeTensor):
            return mask.nonzero()
        known = self.values.known(mask)
        count = self.values.chosen(mask, self.place())
        with self:
            # Not a plain factory, which would give a real tensor on the host.
            made = mask.new_zeros((count, mask.dim()), dtype=torch.int64)
        if known is not None:
            self.values.learn(made, known.nonzero())
        return made

    @staticmethod
    def _masks(indices: Any) -> bool:
        kinds = {torch.bool, torch.uint8}
        return any(isinstance(i, Tensor) and i.dtype in kinds for i in indices)

    def _unmasked(self, x: Tensor, indices: Any) -> list[Tensor | None]:
        plain: list[Tensor | None] = []
        for index in indices:
            if isinstance(index, Tensor) and index.dtype in {torch.bool, torch.uint8}:
                plain += list(self._indices(index).unbind(1))
            else:
                plain.append(index)
        return plain

    def _unique(self, func: Any, args: Any) -> Any:
        x = args[0]
        known = self.values.known(x)
        if known is not None:
            found = func(known, *args[1:])
            with self:
                copy = _aten._to_copy.default
                return tuple(copy(part, device=self._where(x)) if part.numel() else part for part in found)
        among = shares.choices(x) or x.numel()
        what = f"{among} in number" if among < x.numel() else "all different"
        self.values.assumed[f"the values made unique at {self.place()} are taken to be {what}"] += 1
        with self:
            flat = x.reshape(-1)[:among].clone()
            if among < x.numel():
                self.values.learn(flat, torch.arange(among, dtype=x.dtype))
            return flat, x.new_zeros(x.shape, dtype=torch.int64), x.new_zeros(flat.shape, dtype=torch.int64)

    def _counts(self, x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
        known = self.values.known(x)
        if known is not None:
            length = max(minlength, int(known.max()) + 1 if known.numel() else 0)
        else:
            length = max(minlength, shares.choices(x) or 1)
            self.values.assumed[f"the numbers counted at {self.place()} are taken to be below {length}"] += 1
        with self:
            made = x.new_zeros(length) if weights is None else weights.new_zeros(length)
        self.values.forget(made)  # not the zeros that stand for them
        if weights is None:
            self.values.learn(made, shares.counted("bincount", [x], made))
        return made

    def _alignments(self, x: Tensor, targets: Tensor, _: Any, lengths: Any) -> tuple[Tensor, Tensor]:
        """The loss of each sample, and the likelihood of each place between its letters at each time."""
        if isinstance(lengths, Tensor):
            known = self.values.known(lengths)
            lengths = known.tolist() if known is not None else [targets.shape[-1]]
        steps, batch = x.shape[0], x.shape[1] if x.dim() > 2 else 1
        with self:
            return x.new_empty(batch), x.new_empty(batch, steps, 2 * max(lengths, default=0) + 1)

    def _packed(self, x: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
        known = self.values.content(lengths, self.place())
        steps = x.shape[1 if batch_first else 0]
        shape = torch.zeros(steps, len(known), 1)
        sizes = torch._pack_padded_sequence(shape, known.clamp(min=1), False)[1]
        with self:
            return x.new_empty((int(sizes.sum()), *x.shape[2:])), sizes

    def place(self) -> str:
        file, line = self.ledger._line()
        return f"{file}:{line}" if file else "an unknown line"


def _in_constructor() -> bool:
    """Whether a module is being built: what is made there are weights, and buffers as large as weights."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "__init__":
            arguments = frame.f_code.co_varnames[:1]
            if arguments and isinstance(frame.f_locals.get(arguments[0]), nn.Module):
                return True
        frame = frame.f_back
    return False

"""Decisions torch takes by the device: a tensor that stands for one on the card must get the card's.

They are installed in the dispatcher, so that calls from C++ and recomputations in the backward pass get them too.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._pytree import tree_map

from premortem.fit import fused
from premortem.fit.kernels import Kernels
from premortem.fit.recurrent import packed, recurrent

LOW = (torch.bfloat16, torch.float16)
_aten = torch.ops.aten

# What CUDA's autocast does in 32 bits and the CPU's does not.
_IN_32_BITS = """
    layer_norm native_layer_norm rms_norm group_norm exp expm1 log log10 log2 log1p reciprocal rsqrt acos asin cosh erfinv
    sinh tan softplus pow.Tensor_Scalar pow.Tensor_Tensor pow.Scalar cosine_similarity poisson_nll_loss
    cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss
    margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss
    binary_cross_entropy_with_logits dist cdist renorm logsumexp upsample_nearest2d upsample_bilinear2d
    upsample_bicubic2d
""".split()
# Likewise, but through the type of their result.
_RESULT_IN_32_BITS = "softmax.int log_softmax.int cumsum cumprod prod prod.dim_int sum sum.dim_IntList linalg_vector_norm".split()
_IN_LOW_BITS = "_convolution convolution addmv addr mv chain_matmul linalg_multi_dot".split()
_LEFT_ALONE = {"_native_multi_head_attention"}


def _operation(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(_aten, base), overload or "default")


class Autocast:
    """CUDA's table of autocast for the tensors that stand for the card's."""

    def __init__(self) -> None:
        self._keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
        self._library: torch.library.Library | None = None

    def install(self) -> None:
        library = self._library = torch.library.Library("aten", "IMPL", "AutocastCPU")
        has = torch._C._dispatch_has_kernel_for_dispatch_key
        names = [name[6:] for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
        cpu = {name for name in names if has(f"aten::{name}", "AutocastCPU")} - _LEFT_ALONE
        cuda = {name for name in names if has(f"aten::{name}", "AutocastCUDA")}
        known = set(names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in cpu - cuda:
                library.impl(name, torch.library.fallthrough_kernel)
            for table, kernel in (
                (_IN_LOW_BITS, self._low),
                (_IN_32_BITS, self._full),
                (_RESULT_IN_32_BITS, self._full_result),
            ):
                for name in table:
                    if name in known and name not in cpu:
                        library.impl(name, kernel(name))

    def remove(self) -> None:
        """Also where a signal came before all of it was there."""
        if self._library is not None:
            self._library._destroy()

    def _full(self, name: str) -> Callable[..., Any]:
        op = _operation(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            with torch._C._ExcludeDispatchKeyGuard(self._keys):
                args, kwargs = tree_map(_widened, (args, kwargs))
                return op(*args, **kwargs)

        return call

    def _full_result(self, name: str) -> Callable[..., Any]:
        op = _operation(name)

        def call(x: Tensor, *args: Any, **kwargs: Any) -> Any:
            with torch._C._ExcludeDispatchKeyGuard(self._keys):
                chosen = kwargs.get("dtype") is not None or any(isinstance(a, torch.dtype) for a in args)
                if x.dtype not in LOW or chosen:
                    return op(x, *args, **kwargs)
                if x.dtype is torch.float16 and name.endswith(
                    "softmax.int"
                ):  # one kernel reads half, writes float
                    return getattr(_aten, "_" + name.removesuffix(".int"))(x, args[0], True)
                return op(x, *args, **{**kwargs, "dtype": torch.float32})

        return call

    def _low(self, name: str) -> Callable[..., Any]:
        op = _operation(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            dtype = torch.get_autocast_dtype("cpu")

            def narrowed(thing: Any) -> Any:
                is_float = isinstance(thing, Tensor) and thing.dtype is torch.float32
                return thing.to(dtype) if is_float else thing

            with torch._C._ExcludeDispatchKeyGuard(self._keys):
                args, kwargs = tree_map(narrowed, (args, kwargs))
                return op(*args, **kwargs)

        return call


def _widened(thing: Any) -> Any:
    return thing.float() if isinstance(thing, Tensor) and thing.dtype in LOW else thing


class Paths:
    """Attention, dropout and recurrent layers take other kernels on a card, which keep other tensors."""

    def __init__(self, on_card: Callable[[Any], bool], kernels: Kernels) -> None:
        self.on_card = on_card
        self.gpu, self._kernels = kernels.gpu, kernels
        self.attention: Counter[str] = Counter()
        self._states: Tensor | None = None
        self._library: torch.library.Library | None = None

    def install(self) -> None:
        library = self._library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            library.impl("scaled_dot_product_attention", self._attention, "AutogradCPU")
            library.impl("dropout", self._dropout, "AutogradCPU")
            library.impl("linear", self._linear, "AutogradCPU")
            library.impl("one_hot", _one_hot, "AutogradCPU")
            library.impl("_fused_rms_norm", fused.norm(self.on_card), "AutogradCPU")
            library.impl("lstm_cell", fused.lstm_cell, "AutogradCPU")
            library.impl("gru_cell", fused.gru_cell, "AutogradCPU")
            for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
                library.impl(f"{name}.input", recurrent(name, self._random_state), "AutogradCPU")
                library.impl(f"{name}.data", packed(name, self._random_state), "AutogradCPU")

    def remove(self) -> None:
        """Also where a signal came before all of it was there."""
        if self._library is not None:
            self._library._destroy()

    def _random_state(self, x: Tensor) -> None:
        """cuDNN's dropout has one generator for each thread of the card, made once."""
        if self._states is None:
            self._states = x.new_empty(24 * self.gpu.processors * self.gpu.threads, dtype=torch.uint8)

    def _dropout(self, x: Tensor, p: float, train: bool) -> Tensor:
        if not train or p == 0 or not x.numel():
            return x
        if p == 1:
            return x * torch.zeros((), dtype=x.dtype)
        if self.on_card(x):
            return torch.native_dropout(x, p, True)[0]
        return x * torch.empty_like(x).bernoulli_(1 - p).div_(1 - p)

    def _linear(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """The bias is added to the product in place, which torch does not do to fakes."""
        flat = x.dim() <= 2 or x.is_contiguous()
        if bias is None or flat or not self.on_card(x):
            return _aten.linear.default.decompose(x, weight, bias)  # type: ignore[no-any-return]
        return torch.matmul(x, weight.t()).add_(bias)

    def _attention(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        kernel = self._kernel(q, k, v, attn_mask, enable_gqa) if self.on_card(q) else "math"
        if self.on_card(q):
            self.attention[kernel] += 1
        if kernel == "flash":
            size = q.shape[-1]
            spare = -size % 8
            if spare:
                q, k, v = (F.pad(t, (0, spare)) for t in (q, k, v))
            found = _aten._scaled_dot_product_flash_attention(
                q, k, v, dropout_p, is_causal, scale=scale or size**-0.5
            )[0]
            return found[..., :size] if spare else found  # type: ignore[no-any-return]
        if kernel == "efficient":
            if attn_mask is not None:
                attn_mask = _as_bias(attn_mask, q).expand(*q.shape[:-1], k.shape[-2])
            keeps = q.requires_grad or k.requires_grad or v.requires_grad
            return _aten._scaled_dot_product_efficient_attention(  # type: ignore[no-any-return]
                q, k, v, attn_mask, keeps, dropout_p, is_causal, scale=scale
            )[0]
        self._kernels.adding_in_place = True  # the mask, to the scores
        try:
            return _aten._scaled_dot_product_attention_math(  # type: ignore[no-any-return]
                q, k, v, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
            )[0]
        finally:
            self._kernels.adding_in_place = False

    def _kernel(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, gqa: bool) -> str:
        """Which one CUDA would choose, with the user's switches in force."""
        allowed = torch.backends.cuda
        low, size = q.dtype in LOW, q.shape[-1]
        if any(t.dim() != 4 or t.stride(-1) != 1 for t in (q, k, v)):
            return "math"
        fits = v.shape[-1] == size and self.gpu.capability >= (8, 0)
        if allowed.flash_sdp_enabled() and low and mask is None and size <= 256 and fits:
            return "flash"
        if mask is not None and mask.requires_grad:
            return "math"
        grouped = gqa and q.shape[1] != k.shape[1]
        aligned = size % (8 if low else 4) == 0
        if allowed.mem_efficient_sdp_enabled() and aligned and not grouped:
            return "efficient"
        return "math"


def _one_hot(labels: Tensor, num_classes: int = -1) -> Tensor:
    count = num_classes if num_classes > 0 else int(labels.max().item()) + 1
    found = labels.new_zeros((*labels.shape, count))
    return found.scatter_(-1, labels.unsqueeze(-1), 1)


def _as_bias(mask: Tensor, q: Tensor) -> Tensor:
    if mask.dtype is torch.bool:
        return torch.zeros_like(mask, dtype=q.dtype).masked_fill_(mask.logical_not(), -math.inf)
    return mask

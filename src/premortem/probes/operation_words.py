"""What an operation did to its operands, in words: the one place that knows where functions are not defined."""

import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from premortem.probes.numbers import on_host
from premortem.tensors.sharding import freed

# What the user calls it, where torch's inner name is another one.
_SPELLING = {
    "to_copy": "to",
    "true_divide": "div",
    "divide": "div",
    "multiply": "mul",
    "mm": "matmul",
    "bmm": "matmul",
    "addmm": "matmul",
    "addbmm": "matmul",
    "baddbmm": "matmul",
    "mv": "matmul",
    "dot": "matmul",
    "linear": "matmul",
    "convolution": "conv",
    "native_batch_norm": "batch_norm",
    "native_batch_norm_legit": "batch_norm",
    "native_batch_norm_legit_no_training": "batch_norm",
    "cudnn_batch_norm": "batch_norm",
    "native_layer_norm": "layer_norm",
    "native_group_norm": "group_norm",
    "nll_loss_forward": "nll_loss",
    "nll_loss_nd": "nll_loss",
    "nll_loss2d": "nll_loss",
    "nll_loss2d_forward": "nll_loss",
    "smooth_l1loss": "smooth_l1_loss",
    "l1loss": "l1_loss",
    "linalg_vector_norm": "norm",
    "linalg_norm": "norm",
    "special_xlogy": "xlogy",
    "special_xlog1py": "xlog1py",
    "safe_softmax": "softmax",
}
# Operations that make finite numbers too large rather than meaningless.
GROWING = frozenset(
    "exp exp2 expm1 cosh sinh mul add sub rsub matmul conv pow sum mean prod cumprod cumsum to mse_loss smooth_l1_loss "
    "huber_loss square norm addcmul addcdiv lerp logcumsumexp softplus scaled_dot_product_flash_attention_for_cpu".split()
)
_LOGARITHMS = frozenset({"log", "log2", "log10"})
_EXPONENTIALS = frozenset({"exp", "exp2", "expm1", "cosh", "sinh"})
_WITHIN_ONE = frozenset({"acos", "asin", "atanh", "erfinv"})
_AT_POLES = frozenset({"lgamma", "digamma", "polygamma", "mvlgamma"})
_NORMALISED = frozenset({"softmax", "log_softmax", "logsumexp"})
_INDEFINITE = {
    "mul": "0 times infinity",
    "matmul": "0 times infinity",
    "add": "infinity minus infinity",
    "sub": "infinity minus infinity",
    "sum": "infinity minus infinity",
    "mean": "infinity minus infinity",
}
# What these give is never 0, unless it is too small for its type.
_POSITIVE = frozenset("exp exp2 sigmoid softmax softplus erfc rsqrt reciprocal".split())
# And these give 0 only of a 0.
SHRINKING = _POSITIVE | frozenset("mul div pow square prod to matmul".split())
# A running average is made with these: `slow.mul_(decay).add_(fast, alpha=1 - decay)`, `slow.lerp_(fast, 1 - decay)`.
AVERAGING = frozenset({"mul", "lerp", "foreach_mul", "foreach_lerp"})
_NEARLY_ALL = 0.9  # of 16-bit numbers a factor just below what they can show still changes the largest of each power of 2
_FEW = 16  # numbers, of which a share says nothing
_CLOSED = frozenset({"acos", "asin"})  # finite at one, with a derivative that is not


class Birth(NamedTuple):
    """How a non-finite value came into being."""

    op: str
    detail: str  # "the logarithm of 0", "" when there is nothing better to say than the operation's name
    overflow: bool = False  # finite numbers grew too large for their type
    constant: bool = False  # an operand that is no result of the model was broken already
    made: str = ""  # "nan", "inf" or "-inf"
    sure: bool = False  # its operands were seen, or follow from the result: it is no echo of another one


# numpy's names for what torch calls otherwise.
NUMPY_SPELLING = {
    "divide": "div",
    "true_divide": "div",
    "multiply": "mul",
    "subtract": "sub",
    "power": "pow",
    "arccos": "acos",
    "arcsin": "asin",
    "arctanh": "atanh",
    "arccosh": "acosh",
    "astype": "to",
}


_MEAN = 1  # how torch numbers the reductions of its losses


@functools.lru_cache(maxsize=1024)
def spelling(name: str) -> str:
    """`aten::_log_softmax` or `LogSoftmaxBackward0`, as people write it: `log_softmax`."""
    name = name.rpartition("::")[2].partition(".")[0].rstrip("0123456789" if "Backward" in name else "")
    name = name.removesuffix("Backward")
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().strip("_")
    name = name.removeprefix("foreach_")
    return _SPELLING.get(name, name)


def forward_words(op: str, given: Mapping[str, Any], *, infinite: bool) -> Birth:
    """What bore a value that is not finite of operands (by their name) that are; `infinite`: not NaN."""
    words = undefined(op, given)
    if words:
        return Birth(op, words)
    size = largest(given)
    if not size:
        return Birth(op, op, overflow=infinite and op in GROWING)
    if op == "to":
        return Birth(op, f"numbers up to {size:.3g} that do not fit into the narrower type", overflow=True)
    if op in GROWING:
        what = f"{op} of {size:.3g}" if op in _EXPONENTIALS else f"{op} of numbers up to {size:.3g}"
        return Birth(op, what, overflow=True)
    return Birth(op, f"{op} of numbers up to {size:.3g}")


def undefined(op: str, given: Mapping[str, Any]) -> str:
    """Finite operands for which the operation has no finite result."""
    first = tensor(given, "self", "input")
    if op == "nll_loss":
        weight = given.get("total_weight")
        if weight is not None and float(weight) == 0 and given.get("reduction", _MEAN) == _MEAN:
            return "the mean over no target at all (every one is ignore_index)"
    if op in {"div", "reciprocal", "remainder", "fmod", "floor_divide"}:
        return _division(first if op == "reciprocal" else given.get("other"))
    if op == "addcdiv":
        return _division(given.get("tensor2"))
    if first is None:
        return ""
    if not first.numel():
        return f"the {op} of an empty tensor"
    low, high = bounds(first)
    if op in _LOGARITHMS and low <= 0:
        return f"the logarithm of {low:.3g}"
    if op == "log1p" and low <= -1:
        return f"log1p of {low:.3g}"
    if op == "sqrt" and low < 0:
        return f"the square root of {low:.3g}"
    if op == "rsqrt" and low <= 0:
        return f"1 over the square root of {low:.3g}"
    if op in _WITHIN_ONE and max(-low, high) >= 1:
        return f"{op} of {(low if -low > high else high):.8g}"
    if op == "acosh" and low < 1:
        return f"acosh of {low:.3g}"
    if op == "logit" and (low <= 0 or high >= 1):
        return f"logit of {(low if low <= 0 else high):.8g}"
    if op in _AT_POLES and low <= 0:
        return f"{op} of {low:.3g}"
    if op in {"std", "var", "std_mean", "var_mean"} and _alone(first, given):
        return f"the {op.partition('_')[0]} of a single value"
    if op == "pow":
        return _power(first, given.get("exponent"))
    if op in _INDEFINITE and any(infinite_in(value) for value in given.values()):
        return _INDEFINITE[op]
    if op in _NORMALISED and bool((first == -math.inf).any()):
        return f"{op} over values that are all -inf"
    return ""


def _division(divisor: Any) -> str:
    if isinstance(divisor, torch.Tensor):
        zeros = int((divisor == 0).sum())
        return f"a division by 0 ({zeros} of {divisor.numel()} divisors)" if zeros else ""
    return "a division by 0" if divisor == 0 else ""


def _alone(first: torch.Tensor, given: Mapping[str, Any]) -> bool:
    """One value is left for each result after the correction was taken off."""
    dims = given.get("dim")
    kept = 1
    for size in [first.shape[d if d < first.dim() else d - 2**64] for d in dims] if dims else first.shape:
        kept *= size  # autograd keeps dimensions without their sign
    correction = given.get("correction", 1)
    return kept <= (1 if correction is None else correction)


def _power(base: torch.Tensor, exponent: Any) -> str:
    if exponent is None:
        return ""
    powers = exponent if isinstance(exponent, torch.Tensor) else torch.tensor(float(exponent))
    low, least = float(base.min()), float(powers.min())
    fraction = powers[powers != powers.round()] if powers.dim() else powers
    if low < 0 and fraction.numel() and float(fraction.reshape(-1)[0]) % 1:
        return f"a negative number ({low:.3g}) to the power {float(fraction.reshape(-1)[0]):.3g}"
    if least < 0 and bool((base == 0).any()):
        return f"0 to the power {least:.3g}"
    return ""


def underflowed(op: str, given: Mapping[str, Any]) -> bool:
    """A result that is nothing but 0, of these operands: whether it is 0 only because it is too small for its type."""
    if op in _POSITIVE:
        return True
    tensors = [
        value for value in given.values() if isinstance(value, torch.Tensor) and value.is_floating_point()
    ]
    numbers = [value for value in given.values() if isinstance(value, (int, float))]
    there = [value.detach() != 0 for value in tensors]
    if not there:
        return False
    if op == "prod":
        dim = given.get("dim")
        return bool((there[0].all() if dim is None else there[0].all(dim)).any())
    if op == "matmul":
        return all(bool(each.all()) for each in there)
    if op in {"mul", "div"}:  # infinity in a divisor is another fault
        factors = there[0] if len(there) == 1 else there[0] & there[1]
        return bool(factors.any()) and 0 not in numbers
    return bool(there[0].any())


# --- derivatives -----------------------------------------------------------------------------

_DERIVATIVES: dict[str, Callable[[Callable[[str], Any]], str]] = {
    "sqrt": lambda kept: "sqrt at 0" if has(kept("result"), 0) else "",
    "rsqrt": lambda kept: "rsqrt near 0" if has(kept("result"), math.inf) else "",
    "norm": lambda kept: "a norm at 0" if has(kept("result"), 0) else "",
    "log": lambda kept: "log at 0" if has(kept("self"), 0) else "",
    "log2": lambda kept: "log2 at 0" if has(kept("self"), 0) else "",
    "log10": lambda kept: "log10 at 0" if has(kept("self"), 0) else "",
    "log1p": lambda kept: "log1p at -1" if has(kept("self"), -1) else "",
    "div": lambda kept: "a division at divisor 0" if has(kept("other"), 0) else "",
    "reciprocal": lambda kept: "a division at divisor 0" if has(kept("result"), math.inf) else "",
    "pow": lambda kept: f"pow at 0{_exponent(kept('exponent'))}" if has(kept("self"), 0) else "",
    "atan2": lambda kept: "atan2 at (0, 0)" if _origin(kept("self"), kept("other")) else "",
    "std": lambda kept: "std of equal values" if has(kept("result"), 0) else "",
    "xlogy": lambda kept: "xlogy at 0" if has(kept("other"), 0) else "",
    "prod": lambda kept: "prod with a 0" if has(kept("self"), 0) else "",
}


def backward_words(op: str, kept: Callable[[str], Any], *, infinite: bool) -> Birth:
    """What bore a gradient that is not finite; `kept` gives what the forward pass saved, by its name."""
    where = _DERIVATIVES[op](kept) if op in _DERIVATIVES else ""
    if op in _CLOSED:
        where = f"{op} at 1 or -1" if has(kept("self"), 1) or has(kept("self"), -1) else ""
    if where:
        return Birth(op, f"the derivative of {where}")
    return Birth(op, f"the derivative of {op}", overflow=infinite and op in GROWING)


def has(value: Any, number: float) -> bool:
    return isinstance(value, torch.Tensor) and bool((value.detach() == number).any())


def _origin(y: Any, x: Any) -> bool:
    return isinstance(y, torch.Tensor) and isinstance(x, torch.Tensor) and bool(((y == 0) & (x == 0)).any())


def _exponent(value: Any) -> str:
    return f" (exponent {value:.3g})" if isinstance(value, (int, float)) else ""


# --- numbers ---------------------------------------------------------------------------------


def tensor(given: Mapping[str, Any], *names: str) -> torch.Tensor | None:
    for name in names:
        value = given.get(name)
        if isinstance(value, torch.Tensor):
            return value
    return None


def finite(value: torch.Tensor) -> bool:
    """Whether all values are; one pass and no copy when they are."""
    if freed(value):
        return True
    value = plain(value)
    if not (value.is_floating_point() or value.is_complex()) or not value.numel():
        return True
    if value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    value = on_host(value)
    narrow = value.dtype in {torch.float16, torch.bfloat16}
    if math.isfinite(value.sum(dtype=torch.float32 if narrow else None)):
        return True  # NaN and infinity survive a sum; a sum that is not finite may only be too large
    return bool(torch.isfinite(value).all())


def plain(value: torch.Tensor) -> torch.Tensor:
    value = value.detach()
    if value.layout != torch.strided:
        value = value._values() if value.is_sparse else value.to_dense()
    return value


def bounds(value: torch.Tensor) -> tuple[float, float]:
    """Smallest and largest of the finite values."""
    flat = on_host(plain(value))
    flat = flat.abs() if flat.is_complex() else flat
    low, high = flat.aminmax()
    if not (math.isfinite(low) and math.isfinite(high)):
        flat = flat[torch.isfinite(flat)]
        if not flat.numel():
            return math.nan, math.nan
        low, high = flat.aminmax()
    return float(low), float(high)


def largest(given: Mapping[str, Any]) -> float:
    """The largest size among floating-point operands."""
    sizes = [0.0]
    for value in given.values():
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel():
            sizes += [abs(bound) for bound in bounds(value) if math.isfinite(bound)]
    return max(sizes)


def infinite_in(value: Any) -> bool:
    return has(value, math.inf) or has(value, -math.inf)


def worst(value: torch.Tensor) -> str:
    """ "nan", "inf" or "-inf"."""
    value = plain(value)
    value = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    if bool(torch.isnan(value).any()):
        return "nan"
    return "inf" if bool((value == math.inf).any()) else "-inf"


def decay(op: str, given: Mapping[str, Any]) -> float | None:
    """What an averaging operation multiplies the old numbers by; None where that is not one number, or leaves them alone."""
    number = given.get("weight" if op.endswith("lerp") else "other", given.get("scalar"))
    if isinstance(number, torch.Tensor) and number.numel() == 1 and not number.requires_grad:
        number = float(number)
    if not isinstance(number, float) or not math.isfinite(number):
        return None
    factor = 1.0 - number if op.endswith("lerp") else number
    return factor if 0 < factor < 1 else None


def unchanged(made: torch.Tensor, factor: float) -> float | None:
    """The share of 16-bit numbers that such a factor leaves as they are, if that is nearly all."""
    if made.dtype not in (torch.float16, torch.bfloat16) or made.numel() < _FEW:
        return None
    numbers = made.detach().flatten()[: 1 << 16]
    numbers = numbers[numbers != 0]
    if numbers.numel() < _FEW:
        return None
    share = float((numbers * factor == numbers).float().mean())
    return share if share >= _NEARLY_ALL else None

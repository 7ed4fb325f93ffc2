"""Whether a number is a measurement: by what computes it, and by what becomes of it. Not by how it is called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from premortem.lint.training import backwards, names_in
from premortem.lint.tree import dotted, last_name, receiver

if TYPE_CHECKING:
    from premortem.lint.source import Source

# What these give is a measurement, whatever the code calls it.
_PACKAGES = tuple(
    "sklearn.metrics. torchmetrics. torcheval.metrics. skimage.metrics. sacrebleu. nltk.translate. jiwer. scipy.stats. "
    "scipy.spatial.distance. rouge_score. bert_score. pytorch_fid. torch_fidelity. pystoi. pesq. mir_eval. piq. pyiqa. "
    "pycocotools. lpips.".split()
)
# What is computed with arrays and tensors; not what asks about the machine, draws, reads or moves.
_NUMERIC = frozenset(
    "numpy. numpy.linalg. numpy.fft. torch. torch.nn.functional. torch.linalg. torch.fft. torch.special. scipy.linalg. "
    "scipy.spatial. scipy.signal. scipy.special.".split()
)
_MAKES = frozenset(
    "array asarray zeros ones full empty eye arange linspace stack concatenate cat load loads save loadtxt genfromtxt "
    "fromfile frombuffer from_numpy tensor as_tensor device is_available manual_seed no_grad inference_mode is_tensor "
    "reshape expand_dims squeeze unsqueeze transpose set_grad_enabled get_default_dtype finfo iinfo dtype isnan isinf "
    "isfinite any all int64 int32 float32 float64 uint8 Tensor FloatTensor LongTensor zeros_like ones_like".split()
)
_MEANS = frozenset("mean nanmean fmean average median nanmedian std nanstd".split())
# Whoever takes apart what a model has written counts what cannot be taken apart as wrong, and means to.
_TAKES_APART = frozenset(
    "loads exec eval literal_eval sympify compile run check_output search match fullmatch findall group generate "
    "chat create complete invoke urlopen request requests post".split()
)


def by_a_metric(source: Source, value: ast.expr) -> bool:
    """Whether a function of a package for metrics is called here."""
    return any(
        isinstance(node, ast.Call) and is_of_a_metric(source, node) for node in (value, *source.within(value))
    )


def is_of_a_metric(source: Source, call: ast.Call) -> bool:
    names = source.names.of(call.func)
    return bool(names) and all(name.startswith(_PACKAGES) for name in names)


def by_numbers(source: Source, value: ast.expr) -> bool:
    """Whether something is computed here with numpy, scipy or torch, from values that have names; not how large it is."""
    size = value.value if isinstance(value, ast.Subscript) else value
    if isinstance(size, ast.Attribute) and size.attr in {"shape", "size", "ndim"}:
        return False
    return any(
        isinstance(node, ast.Call)
        and bool(names := source.names.of(node.func))
        and all(name[: name.rfind(".") + 1] in _NUMERIC for name in names)
        and last_name(node) not in _MAKES
        and not last_name(node)[:1].isupper()
        and any(names_in(source, one) for one in node.args)
        for node in (value, *source.within(value))
    )


def losses_of(source: Source, block: ast.Try) -> set[str]:
    """The losses that go backward in a `try`."""
    below = {node for statement in block.body for node in source.within(statement)}
    return {one.name for one in backwards(source) if one.name and one.call in below}


def takes_apart(source: Source, block: ast.Try) -> bool:
    """Whether the `try` reads text that a model or a service wrote: an answer that cannot be read is a wrong one."""
    return any(
        isinstance(node, ast.Call) and (last_name(node) in _TAKES_APART or "parse" in last_name(node).lower())
        for statement in block.body
        for node in source.within(statement)
    )


def is_averaged(source: Source, scope: ast.AST, held: str) -> bool:
    """Whether a mean is made of a list, or of a total that is divided in the end."""
    if not held:
        return False
    for node in source.within(scope):
        if isinstance(node, ast.Call):
            over = node.args[0] if node.args else receiver(node)
            if last_name(node) in _MEANS and over is not None and held in _lists(over):
                return True
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left = node.left
            if isinstance(left, ast.Call) and last_name(left) == "sum" and left.args:
                left = left.args[0]
            if dotted(left) == held:
                return True
    return False


def _lists(over: ast.expr) -> set[str]:
    """`scores` of `scores`, `np.array(scores)` and `torch.tensor(scores)`."""
    inner = over.args[0] if isinstance(over, ast.Call) and over.args else over
    return {dotted(over), dotted(inner)} - {""}


def added_to(source: Source, scope: ast.AST, name: str) -> set[str]:
    """The lists and totals of a function to which a value of this name is added."""
    found: set[str] = set()
    for node in source.within(scope, nested=False):
        if isinstance(node, ast.Call) and last_name(node) == "append" and len(node.args) == 1:
            if dotted(node.args[0]) == name:
                found.add(dotted(receiver(node)))
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and dotted(node.value) == name:
            found.add(dotted(node.target))
    return found - {""}

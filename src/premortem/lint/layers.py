"""Which calls build a layer that has weights."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from premortem.lint.tree import own_method

if TYPE_CHECKING:
    from premortem.lint.source import Source

# Layers of torch.nn with parameters that are always there.
WITH_WEIGHTS = frozenset(
    "Linear Bilinear LazyLinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d "
    "LazyConv2d LazyConv3d Embedding EmbeddingBag LayerNorm BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm "
    "GroupNorm RMSNorm RNN LSTM GRU RNNCell LSTMCell GRUCell MultiheadAttention Transformer TransformerEncoder "
    "TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer PReLU".split()
)


def has_weights(source: Source, value: ast.AST, depth: int = 4) -> bool:
    """Whether this expression surely builds a module with parameters: of torch, or of a class of this file."""
    if not isinstance(value, ast.Call) or depth == 0:
        return False
    names = source.names.of(value.func)
    if not names:
        return False
    if all(name.startswith("torch.nn.") and name[9:] in WITH_WEIGHTS for name in names):
        return True
    if names == {"torch.nn.Sequential"}:
        return any(has_weights(source, one, depth - 1) for one in value.args)
    if isinstance(value.func, ast.Name) and names == {f"<local>.{value.func.id}"}:
        same = [one for one in source.classes if one.name == value.func.id]
        return len(same) == 1 and same[0].name in source.module_classes and _builds(source, same[0], depth)
    return False


def builds_layer(source: Source, item: ast.expr) -> bool:
    """Whether this surely builds a layer with weights, or is a name that only such layers are assigned to."""
    if not isinstance(item, ast.Name):
        return has_weights(source, item)
    values = source.assigned_at(item)
    return bool(values) and all(has_weights(source, one) for one in values)


def _builds(source: Source, owner: ast.ClassDef, depth: int) -> bool:
    init = own_method(owner, "__init__")
    return init is not None and any(
        isinstance(node, ast.Assign)
        and (
            has_weights(source, node.value, depth - 1)
            or (
                isinstance(node.value, ast.Call)
                and source.names.all_in(node.value.func, {"torch.nn.Parameter"})
            )
        )
        for node in source.within(init)
    )

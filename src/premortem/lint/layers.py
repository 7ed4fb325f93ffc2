"""Which calls build a layer that has weights."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from premortem.lint.source import FUNCTIONS

if TYPE_CHECKING:
    from premortem.lint.source import Source

# Layers of torch.nn with parameters that are always there.
_WITH_WEIGHTS = frozenset(
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
    if all(name.startswith("torch.nn.") and name[9:] in _WITH_WEIGHTS for name in names):
        return True
    if names == {"torch.nn.Sequential"}:
        return any(has_weights(source, one, depth - 1) for one in value.args)
    if isinstance(value.func, ast.Name) and names == {f"<local>.{value.func.id}"}:
        same = [one for one in source.classes if one.name == value.func.id]
        return len(same) == 1 and same[0].name in source.module_classes and _builds(source, same[0], depth)
    return False


def _builds(source: Source, owner: ast.ClassDef, depth: int) -> bool:
    init = next((one for one in owner.body if isinstance(one, FUNCTIONS) and one.name == "__init__"), None)
    if init is None:
        return False
    return any(
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

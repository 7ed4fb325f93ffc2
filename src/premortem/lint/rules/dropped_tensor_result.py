from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic, Fix
from premortem.lint.facts import Facts
from premortem.lint.rule import Rule
from premortem.lint.source import Source, dotted, last_name

# Only tensors (and arrays, which behave alike here) have these.
TENSORS_ONLY = frozenset(
    "permute transpose unsqueeze squeeze contiguous clamp masked_fill nan_to_num detach clone reshape "
    "view flatten expand".split()
)
# ... but these words are also methods of other common things, so they need the same proof as SHARED.
AMBIGUOUS = frozenset("clone view flatten expand reshape transpose detach squeeze".split())
# Modules have these too, and there they work in place.
SHARED = frozenset("to cuda cpu float half bfloat16 double type".split())
# Using these shows that something is a tensor. Not `.dtype`: Hugging Face modules have it.
TENSOR_ATTRIBUTES = frozenset("shape ndim".split())
TENSOR_METHODS = frozenset("size dim".split())
# ... and these that it is not.
MODULE_ATTRIBUTES = frozenset(
    "parameters named_parameters state_dict load_state_dict train eval modules".split()
)
TENSOR_TYPES = frozenset(("torch.Tensor", "torch.FloatTensor", "torch.LongTensor"))


class DroppedTensorResult(Rule):
    """A tensor method that returns a new tensor is called, and the new tensor is thrown away.

    ## Why it matters
    `x.to(device)`, `x.unsqueeze(0)`, `x.clamp(0, 1)` leave `x` as it was. The line does nothing: the tensor stays
    on its device, with its shape and its values, and the error, if there is one, comes somewhere else.

    ## Usual causes
    - modules are moved in place (`model.to(device)`), tensors are not
    - the underscore of the in-place form is missing: `clamp_`, `squeeze_`, `masked_fill_`

    ## What to do
    Assign the result: `x = x.to(device)`.

    ## When it stays silent
    When the receiver can be a module or anything else that is moved in place: methods that modules share with
    tensors are reported only where the code shows that the receiver is a tensor.
    """

    card: ClassVar[Card] = Card(
        code="PM501", name="dropped-tensor-result", family="environment", severity=Severity.ERROR
    )
    triggers: ClassVar[tuple[bytes, ...]] = (b"torch",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for statement in source.expressions:
            call = statement.value
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            method = call.func.attr
            if method not in TENSORS_ONLY and method not in SHARED:
                continue
            if not self._is_tensor(source, call.func.value, method):
                continue
            target = call.func.value
            text = source.text(target)
            fix = Fix((source.insert_before(statement, f"{text} = "),)) if dotted(target) else None
            yield self.report(
                source,
                call,
                f"`{text}.{method}()` returns a new tensor and leaves `{text}` as it was",
                remedy=f"Write `{text} = {text}.{method}(...)`.",
                fix=fix,
            )

    def _is_tensor(self, source: Source, target: ast.expr, method: str) -> bool:
        name = dotted(target)
        if not name or source.names.of(target):
            return False  # `x[0].to()` has no name to find evidence for; an imported name is a module or a function
        scope = source.scope(target)
        proofs = 0
        for node in source.within(scope):
            if isinstance(node, ast.Call) and dotted(node.func) == name:
                return False  # tensors are not called
            if isinstance(node, ast.Attribute) and dotted(node.value) == name:
                if node.attr in MODULE_ATTRIBUTES:
                    return False
                proofs += self._proves(source, node)
            elif isinstance(node, ast.BinOp):
                proofs += name in {dotted(node.left), dotted(node.right)} and not isinstance(
                    node.op, (ast.Mod, ast.BitOr)
                )
            elif isinstance(node, ast.Subscript) and dotted(node.value) == name:
                proofs += isinstance(node.slice, (ast.Tuple, ast.Slice))
            elif isinstance(node, ast.Call) and last_name(node) == "isinstance" and len(node.args) == 2:
                proofs += dotted(node.args[0]) == name and source.names.all_in(node.args[1], TENSOR_TYPES)
            elif isinstance(node, ast.arg) and node.arg == name:
                proofs += source.names.all_in(node.annotation, TENSOR_TYPES)
        # A method that nothing but a tensor has is proof enough by itself.
        return bool(proofs) or (method in TENSORS_ONLY and method not in AMBIGUOUS)

    @staticmethod
    def _proves(source: Source, node: ast.Attribute) -> bool:
        if node.attr in TENSOR_ATTRIBUTES:
            return True
        parent = source.parent(node)
        return node.attr in TENSOR_METHODS and isinstance(parent, ast.Call) and parent.func is node

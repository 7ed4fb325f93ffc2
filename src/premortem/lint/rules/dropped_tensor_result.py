import ast
from collections.abc import Iterator

from premortem.lint.names import LOCAL
from premortem.lint.patterns import pattern
from premortem.lint.receivers import TENSOR_TYPES, is_needed, is_something_else, is_surely_tensor
from premortem.lint.rule import Card, Diagnostic, Facts, Fix, Rule, Severity, Source
from premortem.lint.training import is_test
from premortem.lint.tree import TRIES, dotted, last_name
from premortem.settings.comments import comments

# Only tensors have these, or hardly anything else.
TENSORS_ONLY = frozenset("permute unsqueeze contiguous clamp masked_fill nan_to_num".split())
# Modules, frames, documents and windows have these too: they need a proof that this is a tensor.
SHARED = frozenset(
    "to cuda cpu float half bfloat16 double type "
    "clone view flatten expand reshape transpose detach squeeze".split()
)
# Using these shows that something is a tensor. Not `.dtype`: Hugging Face modules have it.
TENSOR_ATTRIBUTES = frozenset("shape ndim".split())
TENSOR_METHODS = frozenset("size dim".split())
# ... and these that it is not.
MODULE_ATTRIBUTES = frozenset(
    "parameters named_parameters state_dict load_state_dict train eval modules".split()
)
# With these arguments the call changes its receiver, or fills another one.
IN_PLACE = frozenset(("inplace", "out"))
# Things with these names are tensors where what `.to()` gives of them is used elsewhere. Not `batch` and `inputs`: the
# batches of Hugging Face are moved in place.
TENSOR_WORDS = pattern(
    r"(?:^|[._])(?:latents?|noise|images?|masks?|labels?|targets?|embeddings?|logits|tokens?|weights?)$"
)
# Around these, a call is made to see whether it fails or how long it takes.
TRIALS = ("raises", "warns", "profile", "timer", "benchmark", "suppress", "mode")


# How editors mark the cells of a script.
CELLS = pattern(rb"(?m)^(?:# %%|#####)")


class DroppedTensorResult(Rule):
    """A tensor method that returns a new tensor is called, and the new tensor is thrown away.

    ## Why it matters
    `x.to(device)`, `x.unsqueeze(0)`, `x.clamp(0, 1)` leave `x` as it was. The line does nothing: the tensor stays
    on its device, with its shape and its values, and the error, if there is one, comes somewhere else.

    ## Usual causes
    - modules are moved in place (`model.to(device)`), tensors are not
    - the underscore of the in-place form is missing: `clamp_`, `squeeze_`, `masked_fill_`
    - `==` in the place of `=`

    ## What to do
    Assign the result: `x = x.to(device)`.

    ## When it stays silent
    When the receiver can be a module or anything else that is moved in place: methods that modules share with
    tensors are reported only where the code shows that the receiver is a tensor. Where a call is only tried
    (`try`, `pytest.raises`, a profiler), at the end of a notebook's cell, where the result is shown, at the top of a
    script that does nothing more with the tensor, and in tests of classes that look like tensors.
    """

    card = Card("PM501", "dropped-tensor-result", "environment", Severity.ERROR)
    triggers = (b"torch",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for statement in source.expressions:
            call = statement.value
            if isinstance(call, ast.Compare):
                yield from self._compared(source, statement, call)
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            method = call.func.attr
            if method not in TENSORS_ONLY and method not in SHARED:
                continue
            target = call.func.value
            if not self._is_tensor(source, target, method) or any(
                one.arg in IN_PLACE for one in call.keywords
            ):
                continue
            if self.is_shown(source, statement) or self.is_tried(source, statement):
                continue
            if is_something_else(source, target) or not is_needed(source, statement, target):
                continue
            text = source.text(target)
            if not isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
                yield self.report(
                    source,
                    call,
                    f"`.{method}()` returns a new tensor, and nothing takes it: this line does nothing",
                    remedy="Assign the result, or take the line out.",
                )
                continue
            yield self.report(
                source,
                call,
                f"`{text}.{method}()` returns a new tensor and leaves `{text}` as it was",
                remedy=f"Write `{text} = {text}.{method}(...)`.",
                # What follows was written for the tensor as it was: it may now see another shape or device.
                fix=Fix((source.insert_before(statement, f"{text} = "),), safe=False),
            )

    def _compared(self, source: Source, statement: ast.Expr, test: ast.Compare) -> Iterator[Diagnostic]:
        """`mask == label` as a statement: nothing looks at the answer, and `mask` stays as it was."""
        text = source.text(test.left)
        if not isinstance(test.left, (ast.Name, ast.Attribute, ast.Subscript)) or len(test.ops) > 1:
            return
        if not isinstance(test.ops[0], ast.Eq) or not source.names.imports("torch"):
            return
        # Outside of functions people try things, and in a `with` a comparison can be a way to say something.
        if (
            source.function(statement) is None
            or is_test(source, statement)
            or self.is_tried(source, statement)
        ):
            return
        if any(isinstance(above, (ast.With, ast.AsyncWith)) for above in source.ancestors(statement)):
            return
        yield self.report(
            source,
            statement,
            f"this compares `{text}` and drops the answer: `{text}` stays as it was",
            remedy=f"Write `{text} = {source.text(test.comparators[0])}` if that was meant, or take the line out.",
        )

    def _is_tensor(self, source: Source, target: ast.expr, method: str) -> bool:
        if isinstance(target, ast.Subscript) and self._is_guarded(source, target):
            return True
        name = dotted(target)
        # The value of an expression, or of a call before: `(x + y).to(device)`, `x.float().clamp(0, 1)`.
        if isinstance(target, (ast.BinOp, ast.UnaryOp, ast.Call)):
            if _changes_something(source, target):
                return False  # `x.scatter_(1, i, 1).float()` is there for what it does to `x`
            chained = method in TENSORS_ONLY and _is_chain(source, target)
            return chained or is_surely_tensor(source, target)
        # Any other `x[0].to()` has no name to find evidence for; an imported name is a module or a function.
        if not name or any(not one.startswith(LOCAL) for one in source.names.of(target)):
            return False
        proofs = 0
        for node in source.within(source.scope(target)):
            if isinstance(node, ast.Call) and dotted(node.func) == name:
                return False  # tensors are not called
            if isinstance(node, ast.Attribute) and dotted(node.value) == name:
                if node.attr in MODULE_ATTRIBUTES:
                    return False
                proofs += self._proves(source, node)
                kept = node.value is not target and node.attr == method and TENSOR_WORDS.search(name)
                call = source.parent(node)
                proofs += bool(kept) and not isinstance(source.parent(call) if call else None, ast.Expr)
            elif isinstance(node, ast.BinOp):
                mixed = isinstance(node.op, (ast.Mod, ast.BitOr))  # of strings, of types
                proofs += not mixed and name in {dotted(node.left), dotted(node.right)}
            elif isinstance(node, ast.Subscript) and dotted(node.value) == name:
                proofs += isinstance(node.slice, (ast.Tuple, ast.Slice))
            elif isinstance(node, ast.Call) and last_name(node) == "isinstance" and len(node.args) == 2:
                proofs += dotted(node.args[0]) == name and source.names.all_in(node.args[1], TENSOR_TYPES)
            elif isinstance(node, ast.Return) and dotted(node.value) == name:
                function = source.function(node)
                given = function.returns if function is not None else None
                proofs += given is not None and source.names.all_in(given, TENSOR_TYPES)
            elif annotation := self._annotation(node, name):
                if not source.names.any_in(annotation, TENSOR_TYPES) and source.names.of(annotation):
                    return False  # it says itself that it is something else
                proofs += source.names.all_in(annotation, TENSOR_TYPES)
        # A method that nothing but a tensor has is proof enough by itself.
        return bool(proofs) or method in TENSORS_ONLY or is_surely_tensor(source, target)

    @staticmethod
    def _is_guarded(source: Source, target: ast.Subscript) -> bool:
        """It stands under `if isinstance(batch[key], torch.Tensor):`, about the very same entry."""
        same = ast.dump(target)
        tests = [above.test for above in source.ancestors(target) if isinstance(above, ast.If)]
        return any(
            isinstance(test, ast.Call)
            and last_name(test) == "isinstance"
            and len(test.args) == 2
            and ast.dump(test.args[0]) == same
            and source.names.all_in(test.args[1], TENSOR_TYPES)
            for test in tests
        )

    @staticmethod
    def _annotation(node: ast.AST, name: str) -> ast.expr | None:
        if isinstance(node, ast.arg) and node.arg == name:
            return node.annotation
        return node.annotation if isinstance(node, ast.AnnAssign) and dotted(node.target) == name else None

    @staticmethod
    def _proves(source: Source, node: ast.Attribute) -> bool:
        if node.attr in TENSOR_ATTRIBUTES:
            return True
        parent = source.parent(node)
        if not isinstance(parent, ast.Call) or parent.func is not node:
            return False
        then = source.parent(parent)
        # `x.cpu().numpy()`, `x.detach().cpu()`
        made = (
            node.attr in {"cpu", "detach"}
            and isinstance(then, ast.Attribute)
            and then.attr in {"numpy", "cpu"}
        )
        return made or node.attr in TENSOR_METHODS

    @staticmethod
    def is_shown(source: Source, statement: ast.Expr) -> bool:
        """The last expression of a cell is printed: in a notebook, and in scripts that are cut into cells."""
        if source.parent(statement) is not source.tree:
            return False
        if not source.cells:
            return CELLS.search(source.data) is not None and any(
                CELLS.match(comment.encode())
                for _line, comment in comments(source.data.decode(errors="replace"))
            )
        following = [one for one in source.tree.body if one.lineno > statement.lineno]
        return not following or source.cell_at(following[0].lineno) != source.cell_at(statement.lineno)

    @staticmethod
    def is_tried(source: Source, statement: ast.Expr) -> bool:
        for above in source.ancestors(statement):
            if isinstance(above, TRIES) and above.handlers and len(above.body) == 1:  # type: ignore[attr-defined]
                return True
            if isinstance(above, (ast.With, ast.AsyncWith)):
                used = [last_name(item.context_expr).lower() for item in above.items]
                if any(word in name for name in used for word in TRIALS):
                    return True
        return False


def _changes_something(source: Source, target: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Call) and last_name(node).endswith("_")
        for node in (target, *source.within(target))
    )


def _is_chain(source: Source, target: ast.expr) -> bool:
    """`x.float()`, `model(x)`, `a - b`: what has a method that only tensors have is one, if it begins at a value."""
    while isinstance(target, (ast.Call, ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript)):
        if isinstance(target, ast.Call):
            target = target.func
        elif isinstance(target, ast.BinOp):
            target = target.left
        elif isinstance(target, ast.UnaryOp):
            target = target.operand
        else:
            target = target.value
    found = source.names.of(target) if isinstance(target, ast.Name) else frozenset()
    return isinstance(target, ast.Name) and all(
        one == "torch" or one.startswith((LOCAL, "torch.")) for one in found
    )

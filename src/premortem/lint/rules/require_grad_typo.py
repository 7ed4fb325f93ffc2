import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Edit, Facts, Fix, Rule, Severity, Source
from premortem.lint.tree import constant, dotted

_MEANT = "requires_grad"
_TYPOS = frozenset(
    "require_grad requires_grads require_grads requires_gard require_gard required_grad requires_garad "
    "requires_gradient require_gradient requires_grade requries_grad requies_grad reqires_grad "
    "require_gradients requires_gradients".split()
)
# What holds settings may have an attribute of that name.
_SETTINGS = frozenset(
    "args arg cfg config conf opt opts options hparams params self cls settings flags".split()
)


class RequireGradTypo(Rule):
    """An attribute that is nearly called `requires_grad` is set: the tensor does not notice.

    ## Why it matters
    Python creates the new attribute without a word. The parameter keeps its gradient, so what should be frozen goes
    on training, or the other way round.

    ## Usual causes
    A typing error: `.require_grad` is the common one.

    ## What to do
    Write `.requires_grad`; `model.requires_grad_(False)` does it for a whole module. The fix counts as safe: no
    code reads the misspelled name, and the line shows what it was meant to do.

    ## When it stays silent
    On `self`, on settings, and on names that the same file declares as an attribute of its own. On a tensor that was
    just made, which needs no gradient anyway, it is only a note.
    """

    card = Card("PM513", "require-grad-typo", "grad-flow", Severity.ERROR)
    needs = (b"req", b"_g")  # part of every one: to look for all of them takes longer than to check

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for statement in source.nodes(ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Attribute) and target.attr in _TYPOS:
                    if isinstance(constant(statement.value), bool) and not self._declared(source, target):
                        yield self._typo(source, target, harmless=_is_fresh(source, target, statement.value))

    @staticmethod
    def _declared(source: Source, target: ast.Attribute) -> bool:
        first, *rest = dotted(target.value).split(".")
        if [first, *rest][-1].lower() in _SETTINGS or (rest and first in _SETTINGS - {"self"}):
            return True
        # `self.require_grad = ...` somewhere, or the attribute is read: it is a name of this program.
        if f"self.{target.attr}" in source.assignments:
            return True
        return any(
            node.attr == target.attr and isinstance(node.ctx, ast.Load)
            for node in source.nodes(ast.Attribute)
        )

    def _typo(self, source: Source, target: ast.Attribute, *, harmless: bool) -> Diagnostic:
        _start, end = source.range(target)
        return self.report(
            source,
            target,
            f"`.{target.attr}` is not an attribute of tensors: this line changes nothing",
            remedy="Write `.requires_grad`.",
            fix=Fix((Edit(end - len(target.attr.encode()), end, _MEANT),)),
            severity=Severity.INFO if harmless else None,
        )


def _is_fresh(source: Source, target: ast.Attribute, value: ast.expr) -> bool:
    """`pe = torch.zeros(...)`, then False: a new tensor needs no gradient anyway."""
    if constant(value) is not False or not isinstance(target.value, ast.Name):
        return False
    values = source.assigned_at(target.value)
    return bool(values) and all(_makes_tensor(source, one) for one in values)


def _makes_tensor(source: Source, value: ast.expr | None) -> bool:
    while isinstance(value, ast.Call):
        if any(name.rpartition(".")[0] == "torch" for name in source.names.of(value.func)):
            return True
        value = value.func.value if isinstance(value.func, ast.Attribute) else None
    return False

import ast
import re
from collections.abc import Iterator

from premortem.lint.layers import builds_layer
from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import names_in
from premortem.lint.tree import FUNCTIONS, constant
from premortem.lint.words_used import mentions

_CONTAINERS = frozenset(("torch.nn.ModuleList", "torch.nn.Sequential"))
# A sentence, and not only a word: "one set of weights, shared between all blocks", "layers share their parameters", "tied weights".
_OF_LAYERS = r"(?:weight|parameter|layer|block)s?\b"
_SAID = pattern(
    rf"\b{_OF_LAYERS}[^.]{{0,40}}\b(?:shared|sharing|tied)\b|\b(?:shares?|shared|sharing|tied|tying)\b[^.]{{0,40}}\b{_OF_LAYERS}",
    re.IGNORECASE,
)
_ON_PURPOSE = pattern(r"shar|tie|tied|recur|univers|iterat|unroll|weight_?sharing", re.IGNORECASE)


class OneLayerRepeated(Rule):
    """`[layer] * n` puts the same layer into the model n times: all of them have one set of weights.

    ## Why it matters
    The list holds n references to one object. A network of twelve blocks has the parameters of one, its gradient is
    the sum over all places, and it learns far less than its description says.

    ## Usual causes
    Multiplying a list as one does with numbers; a comprehension over a layer that was built outside of it.

    ## What to do
    Build each one: `nn.ModuleList([Block(width) for _ in range(n)])`, or `copy.deepcopy(layer)` in the comprehension.

    ## When it stays silent
    For layers without weights, and where a name or the docstring of the class says that sharing is meant.
    """

    card = Card("PM520", "one-layer-repeated", "optimizer-ownership", Severity.WARNING)
    triggers = (b"ModuleList", b"Sequential")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("ModuleList", "Sequential"):
            if len(call.args) != 1 or not source.names.all_in(call.func, _CONTAINERS):
                continue
            given = call.args[0]
            content = given.value if isinstance(given, ast.Starred) else given
            repeated = _repeated(source, content)
            if repeated is None or _is_meant(source, call):
                continue
            yield self.report(
                source,
                call,
                f"every place in this list holds the same `{source.text(repeated)}`, with one set of weights",
                remedy="Build each layer anew inside the comprehension.",
            )


def _repeated(source: Source, content: ast.expr) -> ast.expr | None:
    """The layer that stands in the list several times, if it surely has weights."""
    if isinstance(content, ast.BinOp) and isinstance(content.op, ast.Mult):
        left, right = content.left, content.right
        items, count = (left, right) if isinstance(left, ast.List) else (right, left)
        if not isinstance(items, ast.List) or constant(count) in {0, 1}:
            return None
        return next((one for one in items.elts if builds_layer(source, one)), None)
    if isinstance(content, (ast.ListComp, ast.GeneratorExp)) and isinstance(content.elt, ast.Name):
        inside = {name for part in content.generators for name in names_in(source, part.target)}
        if content.elt.id not in inside and builds_layer(source, content.elt):
            return content.elt
    return None


def _is_meant(source: Source, call: ast.Call) -> bool:
    """Whether a name of the code around, or what stands at the top of its class or function, says that the weights are shared on purpose."""
    around = [above for above in source.ancestors(call) if isinstance(above, (*FUNCTIONS, ast.ClassDef))]
    if any(_SAID.search(ast.get_docstring(above) or "") for above in around):
        return True
    names = [above.name for above in around]
    asked = [above.test for above in source.ancestors(call) if isinstance(above, ast.If)]
    return any(map(_ON_PURPOSE.search, names)) or any(
        mentions(source, one, _ON_PURPOSE) for one in (source.statement(call), *asked)
    )

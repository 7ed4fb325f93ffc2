import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import is_test
from premortem.lint.tree import argument, constant, last_name

CONVOLUTIONS = frozenset("Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d".split())
NORMS = frozenset("BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d".split())
# Layers that give out as many features, or channels, as they get.
SAME = frozenset(
    "ReLU ReLU6 LeakyReLU PReLU ELU SELU GELU SiLU Mish Tanh Sigmoid Softplus Hardswish Hardtanh Dropout Dropout1d "
    "Dropout2d Dropout3d AlphaDropout Identity MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d "
    "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool2d Upsample Softmax LogSoftmax".split()
)


class NeighboursDoNotFit(Rule):
    """Two neighbouring layers of a `Sequential` have sizes that do not fit.

    ## Why it matters
    The first batch raises, or, for a model that is built late or rarely used, the batch that first gets there.

    ## Usual causes
    - one width was changed and its neighbour was not

    ## What to do
    Give the second layer as many inputs as the first has outputs.

    ## When it stays silent
    When a size is not a plain number, and between layers of which it is not known what they do to the size.
    """

    card = Card("PM558", "neighbours-do-not-fit", "shape", Severity.ERROR, preview=True)
    triggers = (b"Sequential",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("Sequential"):
            if source.names.all_in(call.func, {"torch.nn.Sequential"}) and not is_test(source, call):
                yield from self._chain(source, call)

    def _chain(self, source: Source, call: ast.Call) -> Iterator[Diagnostic]:
        size: int | None = None
        kind, before = "", ""
        for layer in call.args:
            name = _layer(source, layer)
            if not name or not isinstance(layer, ast.Call):
                size = None
                continue
            wanted, given, own = _sizes(name, layer)
            if wanted is not None and size is not None and own == kind and wanted != size:
                yield self.report(
                    source,
                    layer,
                    f"this `{name}` takes {wanted} {own}, and the `{before}` before it gives {size}",
                    remedy=f"Write {size} here, or {wanted} there.",
                )
            if name not in SAME and name not in NORMS:
                size, kind, before = given, own, name


def _layer(source: Source, layer: ast.expr) -> str:
    if not isinstance(layer, ast.Call):
        return ""
    names = source.names.of(layer.func)
    name = last_name(layer)
    known = name in SAME or name in NORMS or name in CONVOLUTIONS or name == "Linear"
    return name if known and names == {f"torch.nn.{name}"} else ""


def _sizes(name: str, layer: ast.Call) -> tuple[int | None, int | None, str]:
    """What a layer takes and gives, where that is a plain number, and of what."""
    if name == "Linear":
        return _number(layer, "in_features", 0), _number(layer, "out_features", 1), "features"
    if name in CONVOLUTIONS:
        return _number(layer, "in_channels", 0), _number(layer, "out_channels", 1), "channels"
    if name in NORMS and not name.endswith("1d"):
        return _number(layer, "num_features", 0), None, "channels"
    return None, None, ""


def _number(layer: ast.Call, name: str, place: int) -> int | None:
    value = constant(argument(layer, name, place))
    return value if isinstance(value, int) and not isinstance(value, bool) else None

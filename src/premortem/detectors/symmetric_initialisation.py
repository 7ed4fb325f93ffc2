from premortem.detectors.base import FADING, THRICE, TWICE, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.motion import Motions
from premortem.events import Custody, Event, LayerStats, Link, ModelSeen, Parameter


class SymmetricInitialisation(Detector):
    """All units of a hidden layer have the same weights, and stay the same in training.

    ## Why it matters
    Units with equal weights get equal gradients, so they remain copies of each other for ever: a layer of a
    thousand units computes one feature. With zeros in two layers on top of each other not even a gradient
    arrives.

    ## Usual causes
    `nn.init.zeros_` or `constant_` on the weights of hidden layers, an `apply` that initialises more than it should.

    ## What to do
    Initialise weights at random (torch's default, `xavier_uniform_`, `kaiming_normal_`); only biases, and the
    last layer of a branch, may start at zero.

    ## When it stays silent
    Output layers, zero-initialised branches and adapters that come apart after the first step, frozen layers,
    and warm-ups from rate 0.
    """

    card = Card("PM243", "symmetric-initialisation", "init-saturation", Severity.ERROR).explaining(
        *FADING, "dead-units", "detached-from-loss", "parameter-without-optimizer", "poisoned-checkpoint"
    )
    uses = (Motions,)
    listens = (ModelSeen, LayerStats, Custody)

    def __init__(self) -> None:
        self._weights: dict[str, Parameter] = {}  # layer -> its weight matrix
        self._twins: dict[str, LayerStats] = {}  # hidden layers whose units were equal in the last forward
        self._looks: dict[
            str, tuple[int, bool]
        ] = {}  # layer -> looks in a row, whether its gradient was exactly 0

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ModelSeen):
            for parameter in event.parameters:
                if len(parameter.shape) > 1:
                    self._weights.setdefault(parameter.name.rpartition(".")[0], parameter)
        elif isinstance(event, LayerStats):
            self._ran(event)
        elif isinstance(event, Custody):
            yield from self._moved(event)
            yield from self._zero(event)

    def _ran(self, event: LayerStats) -> None:
        if event.order < 0 or not event.grad:
            return
        self._twins.pop(event.layer, None)
        weight = self._weights.get(event.layer)
        if weight is None or event.last or "Embedding" in event.kind:
            return
        rows = weight.shape[0]
        if rows >= 2 and event.twins >= 1 - 1.5 / rows:
            self._twins[event.layer] = event

    def _moved(self, event: Custody) -> Findings:
        """A forward with equal units, then a step that could have parted them."""
        links = {link.key: link for link in event.links}
        for layer in self._twins:
            link = links.get(self._weights[layer].key)
            if link is None or not trains(link, event):
                continue
            self._looks[layer] = (self._looks.get(layer, (0, False))[0] + 1, link.gradient == 0)
        for layer in [known for known in self._looks if known not in self._twins]:
            del self._looks[layer]  # they came apart
        stuck = [
            layer for layer, (looks, _) in self._looks.items() if looks > THRICE and layer in self._twins
        ]
        if stuck and not self.over:
            yield self._found(event, stuck)

    def _zero(self, event: Custody) -> Findings:
        """Matrices of nothing but zeros that get a gradient of nothing but zeros: they will never be anything else."""
        matrices = [link for link in event.links if self.fact(Motions).is_matrix(link.key)]
        links = [link for link in matrices if event.optimizer in link.owners]
        still = [link for link in links if link.start == 0 and link.gradient == 0 and trains(link, event)]
        stuck = len(still) >= TWICE and 2 * len(still) >= len(links)
        if self.in_a_row(event.optimizer, stuck) > THRICE and not self.over:
            yield self.last_word(
                event,
                f"{len(still)} of {len(links)} weight matrices are zero, and so is every gradient they get, still after "
                f"{event.step} steps",
                cause="A layer of zeros passes nothing on, and a gradient goes through the layers behind it: two of them in a row "
                "keep each other at zero.",
                remedy="Initialise the weights of hidden layers at random.",
                parameter=still[0].name,
                layers=[link.name for link in still[:16]],
            )

    def _found(self, event: Custody, layers: list[str]) -> Finding:
        weight = self._weights[layers[0]]
        _, silent = self._looks[layers[0]]
        more = f" (and {len(layers) - 1} more layers)" if len(layers) > 1 else ""
        return self.last_word(
            event,
            f"all {weight.shape[0]} units of {layers[0]} have the same weights{more}, still after "
            f"{event.step} steps" + (": its gradient is exactly 0" if silent else ""),
            cause="Equal units get equal gradients, so they stay copies of each other.",
            remedy="Initialise the weights of hidden layers at random.",
            module=layers[0],
            parameter=weight.name,
            layers=layers[:16],
        )


def trains(link: Link, event: Custody) -> bool:
    if not link.trainable or not link.graded or event.optimizer not in link.owners or not any(event.lrs):
        return False
    return bool(link.moved) or link.gradient == 0

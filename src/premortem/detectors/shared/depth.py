"""Layers in the order they run, and the size of the gradient that reaches each."""

from premortem.detectors.shared.facts import Fact
from premortem.events import Event, LayerStats, ModelSeen, StepStats


class Depths(Fact):
    """For each model, its layers with weights from the first to the last."""

    LISTENS = (ModelSeen, LayerStats)

    def __init__(self) -> None:
        self._matrices: dict[int, dict[int, str]] = {}  # model -> weight matrices and their names
        self._order: dict[int, list[str]] = {}  # model -> layers

    def observe(self, event: Event) -> None:
        if isinstance(event, ModelSeen):
            self._matrices[event.model] = {p.key: p.name for p in event.parameters if len(p.shape) > 1}
        elif isinstance(event, LayerStats) and event.grad and event.order >= 0:
            layers = self._order.setdefault(event.model, [])
            if event.order == 0:
                layers.clear()
            if event.layer not in layers:  # a recurrent loop runs one layer many times
                layers.append(event.layer)

    def profiles(self, event: StepStats) -> dict[int, list[tuple[str, float]]]:
        """Model -> (layer, norm of the gradient of its weights), for layers that have one."""
        norms = dict(zip(event.keys, event.grad_norms, strict=False))
        found: dict[int, list[tuple[str, float]]] = {}
        for model, layers in self._order.items():
            largest: dict[str, float] = {}
            for key, name in self._matrices.get(model, {}).items():
                layer = name.rpartition(".")[0]
                if key in norms:
                    largest[layer] = max(norms[key], largest.get(layer, 0.0))
            profile = [(layer, largest[layer]) for layer in layers if layer in largest]
            if profile:
                found[model] = profile
        return found

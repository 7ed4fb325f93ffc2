"""What a script's training step is made of, as seen in its first turns."""

from dataclasses import dataclass, field

import torch
from torch import nn
from torch.optim.optimizer import Optimizer

from premortem.changes import RunDescription
from premortem.changes.channels_last import convolutions, follows, tells
from premortem.changes.compiling import compiled, repeated
from premortem.changes.reach import Around, Reach

_LOW = frozenset({torch.float16, torch.bfloat16})
_DEVICES = frozenset({"cuda", "cpu", "mps", "xpu"})  # with fused optimizers


@dataclass
class Scene:
    roots: list[nn.Module] = field(default_factory=list)  # called by the script with gradients
    optimizers: list[Optimizer] = field(default_factory=list)
    shapes: set[tuple[tuple[int, ...], ...]] = field(default_factory=set)  # of what the roots were given
    autocast: bool = False  # a root was called under autocast
    reentrant: bool = False  # checkpoints of the reentrant kind were used
    checkpoints: bool = False
    backend: str = "inductor"  # of torch.compile
    batches: int | None = None  # in one pass over the loader

    @property
    def device(self) -> torch.device:
        first = next((p for root in self.roots for p in root.parameters()), None)
        return first.device if first is not None else torch.device("cpu")

    @property
    def run(self) -> RunDescription:
        """The same in plain values."""
        parts = [part for root in self.roots for part in root.modules()]
        weights = [p for root in self.roots for p in root.parameters()]
        held = [group for optimizer in self.optimizers for group in optimizer.param_groups]
        layers = [layer for root in self.roots for layer in convolutions(root)]
        telling = [layer.weight for layer in layers if tells(layer.weight)]
        cuda = self.device.type == "cuda"
        return RunDescription(
            device=self.device.type,
            backend=self.backend,
            bfloat16=not cuda or torch.cuda.is_bf16_supported(including_emulation=False),
            optimizers=tuple(type(optimizer).__name__ for optimizer in self.optimizers),
            groups=tuple({name: group[name] for name in group if name != "params"} for group in held),
            fusible=all(_fusible(p) for group in held for p in group["params"]),
            autocast=self.autocast,
            low_weights=any(p.dtype in _LOW for p in weights),
            compiled=any(map(compiled, self.roots)),
            convolutions=len(layers),
            channels_last=all(map(follows, telling)),
            repeated_blocks=sum(map(len, repeated(parts))),
            checkpoints=self.checkpoints,
            reentrant=self.reentrant,
        )


def _fusible(parameter: torch.Tensor) -> bool:
    return parameter.device.type in _DEVICES and parameter.is_floating_point()


class TurnReach(Reach):
    """How a change reaches into the turns of a running loop: the stage calls what goes around the roots, so that
    compilers see what they would see without us."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(roots=scene.roots, optimizers=scene.optimizers)
        self.around: list[Around] = []

    def on_root_call(self, around: Around) -> None:
        self.around.append(around)
        self.undoing(self.around.clear)

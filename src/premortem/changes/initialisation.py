"""How weights begin: as torch's layers begin by themselves."""

from __future__ import annotations

from premortem.changes.base import Change, Learning, RunDescription
from premortem.changes.late import nn, torch


class DefaultInitialisation(Change):
    """Every layer begins as torch initialises it, whatever the script has made of its weights before the first call."""

    name = "default-initialisation"
    learning = Learning(
        title="initialised as torch does",
        question="initialisation",
        family="init-saturation",
        order=5,
        least=0.15,
        finding="symmetric-initialisation",
        remedy="leave the weights as torch's layers initialise them",
    )

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        if run.loaded:
            return "weights were loaded into the model"
        # Where they do, this is but another draw of the same weights.
        return "" if run.own_weights else "layers begin as torch initialises them"

    def put_on(self) -> None:
        self.reach.on_root(self._met)

    def _met(self, root: nn.Module) -> None:
        state = torch.get_rng_state()
        for part in root.modules():
            reset = getattr(part, "reset_parameters", None)
            if callable(reset):
                with torch.no_grad():
                    reset()
                self.touched += 1
        torch.set_rng_state(state)

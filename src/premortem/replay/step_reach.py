"""How a change reaches into the repeated step, and what else is set for it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from premortem.changes.reach import Reach
from premortem.points import UNDER
from premortem.probes.session import Session
from premortem.replay.recorded import Recorded
from premortem.tensors.sharding import local

LOW = frozenset({torch.float16, torch.bfloat16})
Updating = Callable[[Any], AbstractContextManager[Any]]


class StepReach(Reach):
    """Beneath what hands out the recorded step: a change is given the recorded inputs, and not the script's own."""

    def __init__(self, session: Session, recorded: Recorded, roots: Sequence[nn.Module]) -> None:
        super().__init__(order=UNDER, ours=lambda: session.looking, roots=roots)
        self._recorded = recorded
        self.updating: list[Updating] = []

    def keep_samples(self, chosen: list[int]) -> None:
        self._recorded.choose(chosen)
        self.undoing(lambda: self._recorded.choose(None))

    def around_update(self, around: Updating) -> None:
        """The script's step is refused; the update that is judged instead is made with these."""
        self.updating.append(around)
        self.undoing(self.updating.clear)


class Policies:
    """The precision that FSDP2 computes in, whatever its weights have. It is fixed when a model is sharded, so only a new
    process can change it."""

    def __init__(self, *, wide: bool) -> None:
        self.low = False  # the script has asked for 16 bits
        self._wide = wide

    def install(self, session: Session) -> None:
        from torch.distributed import fsdp

        if hasattr(fsdp, "MixedPrecisionPolicy"):
            session.patch(fsdp.MixedPrecisionPolicy, "__init__", self._wrap)

    def _wrap(self, original: Any) -> Any:
        def __init__(policy: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(policy, *args, **kwargs)
            if policy.param_dtype in LOW:
                self.low = True
                if self._wide:
                    object.__setattr__(policy, "param_dtype", None)

        return __init__


@contextmanager
def unseen(session: Session) -> Iterator[None]:
    """What we do ourselves is no part of the script, and nothing for the microscope. Of tensors in pieces it sees this
    rank's: the others are not asked."""
    before, session.looking = session.looking, True
    try:
        with session.locally or nullcontext():
            yield
    finally:
        session.looking = before


def as_recorded(original: Any) -> Any:
    """Clipping as in the recorded run, where a norm that is not finite did not spread to all gradients."""

    def clip(parameters: Any, max_norm: Any, total_norm: Any, *args: Any, **kwargs: Any) -> Any:
        total_norm = local(total_norm)  # of gradients in pieces it is the same on every rank
        total_norm = torch.where(torch.isfinite(total_norm), total_norm, 0.0)
        return original(parameters, max_norm, total_norm, *args, **kwargs)

    return clip

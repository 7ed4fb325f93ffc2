"""When the microscope is used: in the very first steps and the first calls of an evaluation, and after something was not
finite, until it recurs.

On the CPU the first failure is explained at once, from its graph (`inquest.py`); on a GPU it is known a step or two later.
Either way the next steps run under the microscope: a fault that comes again, as most do, gets its full certificate.
"""

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from premortem.events import NonFinite, NonFiniteComputed
from premortem.probes.microscope import Microscope
from premortem.probes.modules import Models
from premortem.probes.places import Directory
from premortem.probes.session import Session
from premortem.tensors.memory import storage

_FIRST_STEPS = 2
_STEPS = 16  # after an alarm
_MOST_HIDDEN = 3  # alarms for what the script replaces: much of that is meant
_MOST_ALARMS = 4  # a run that is never finite must not crawl to its end
_MOST_FORWARDS = 64  # without a step: this is no training
# Before that, torch raises when a higher-order operator runs under a mode.
_HARMLESS = hasattr(TorchDispatchMode, "supports_higher_order_operators")


def among_ranks() -> bool:
    """Sharded tensors and collectives bring modes of their own, and one slow rank makes all others wait."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


class MicroscopeSchedule:
    def __init__(self, session: Session, models: Models) -> None:
        self.session = session
        self.models = models
        self.scope: Microscope | None = None
        self._until = _FIRST_STEPS if _HARMLESS else 0
        self._directory = Directory()
        self._alarms = self._suspected = 0
        self._satisfied = False
        self._forwards = 0
        self._evaluated = _FIRST_STEPS  # forwards of evaluations that may still be looked at
        self._looked_for = False  # what an evaluation made that is not a number
        self._living: dict[
            int, tuple[StorageWeakRef, NonFinite]
        ] = {}  # what was seen to be made, and lives on

    def install(self) -> None:
        self.models.before_forward.append(self.consider)

    def noticed(self, broken: bool) -> None:
        """The numbers of a step: after one that was not finite, have a closer look at what follows."""
        if not broken:
            self._satisfied = False
        else:
            self.alarm()

    def alarm(self) -> None:
        if self._satisfied:
            return
        if self.session.step >= self._until and self._alarms < _MOST_ALARMS:
            self._alarms += 1
            self._until = self.session.step + _STEPS

    def suspect(self) -> None:
        """The script replaces what is not finite: was it computed, and does it reach the loss?"""
        if self.session.step >= self._until and self._suspected < _MOST_HIDDEN:
            self._suspected += 1
            self._until = self.session.step + _STEPS

    def look_at_evaluations(self) -> None:
        """A number of an evaluation was not finite: the next one is looked at, as a whole or as far as it goes."""
        self._evaluated = _MOST_FORWARDS
        self._looked_for = True

    def consider(self) -> None:
        """A model is about to be called."""
        self._decide(evaluating=self.session.step > 0 and not self.models.with_grad)

    def _decide(self, *, evaluating: bool) -> None:
        if torch._C._current_autograd_node() is not None:
            return  # a checkpoint computes again: what is entered or left here is undone when its node is done
        self._forwards += 1
        wanted = (
            (self.session.step < self._until or (evaluating and self._evaluated > 0))
            and not self.session.compiling_used
            and self._forwards <= _MOST_FORWARDS
            and not among_ranks()
        )
        self._evaluated -= evaluating and wanted
        if not wanted:
            self.leave()
        elif self.scope is None and not self.session.modes:
            # Only on an empty stack: code that leaves a mode takes the uppermost, whoever that is.
            self.scope = Microscope(self.session, self._samples, self._directory)
            self.scope.__enter__()

    def certificate(self, of: torch.Tensor | None = None) -> NonFinite | None:
        return self.scope.certificate(of) if self.scope is not None else None

    def lost(self, gradients: list[torch.Tensor]) -> tuple[NonFinite, str] | None:
        return self.scope.lost(gradients) if self.scope is not None else None

    def made(self, tensor: torch.Tensor) -> NonFinite | None:
        """How the values of this memory that are not finite came into being, if that was seen in any step."""
        known = self._living.get(storage(tensor))
        return known[1] if known is not None and not known[0].expired() else None

    def satisfied(self) -> None:
        """The certificate is written: no more of this failure."""
        self._until = 0
        self._satisfied = True

    def step_ended(self) -> None:
        self._forwards = 0
        if self.scope is not None:
            self._living.update(self.scope.living())
            self.scope.forget()
        self._decide(evaluating=False)

    def leave(self) -> None:
        scope = self.scope
        if scope is not None:
            if self._looked_for and (found := scope.first_made()) is not None:
                self._looked_for = False
                self.session.emit(NonFiniteComputed(step=self.session.step, at=found.at, origin=found))
            scope.blind = True
            scope.resume()
            if scope.on_top:  # else at the next opportunity
                self.scope = None
                scope.__exit__(None, None, None)

    def _samples(self) -> int | None:
        return next(iter(self.models.sizes()), None)

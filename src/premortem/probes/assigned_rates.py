"""Learning rates that the script sets by hand after it loaded an optimizer: it wants another rate than the file's."""

import weakref

from torch.optim.optimizer import Optimizer

from premortem.probes.optimizer_construction import number


class Assigned:
    """Knows what the load and the schedulers wrote; any other rate was written by the script."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = weakref.ref(optimizer)
        self._left = self._rates()
        self._by_hand = False

    def by_hand(self) -> bool:
        self._by_hand = self._by_hand or self._rates() != self._left
        return self._by_hand

    def scheduler_writes(self, *, done: bool) -> None:
        """Called before a scheduler is built or stepped, and when it is done."""
        if done:
            self._left = self._rates()
        else:
            self.by_hand()

    def _rates(self) -> list[str]:
        optimizer = self._optimizer()
        return [repr(number(group.get("lr"))) for group in optimizer.param_groups] if optimizer else []

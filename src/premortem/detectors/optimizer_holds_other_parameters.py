from premortem.amounts import count
from premortem.detectors.base import STILL, TWICE, Card, Detector, Findings, Severity
from premortem.detectors.shared.wording import parameters_of
from premortem.events import Custody, Event, GraphWalked, Link, OptimizerStep


class OptimizerHoldsOtherParameters(Detector):
    """An optimizer steps parameters that the loss never reaches, while no optimizer holds those it does reach.

    ## Why it matters
    The loss has gradients, `step()` runs, and nothing is learned: the tensors that are updated are not the
    tensors of the model that is trained.

    ## Usual causes
    - the model is copied (`deepcopy`), re-created or loaded as a new object after the optimizer was built
    - a new model for every fold or trial, and one optimizer made before the loop
    - `fully_shard` (FSDP2) was called after the optimizer was built: it replaces every parameter
    - `load_state_dict(..., assign=True)` or an initialiser that replaces parameters, after the optimizer was built
    - the optimizer was given the teacher, the target network or the EMA copy, or copies of the tensors
      (`state_dict().values()`, `[p.clone() for p in ...]`)

    ## What to do
    Build the optimizer last, from the very object that the training loop calls, and again whenever that object
    is replaced.

    ## When it stays silent
    When gradients are put into the optimizer's parameters by hand (copied from a worker, estimated), and when
    the parameters without an optimizer are moved by hand.
    """

    card = Card(
        "PM101", "optimizer-holds-other-parameters", "optimizer-ownership", Severity.ERROR
    ).explaining(
        *STILL,
        "parameter-without-optimizer",
        "hidden-submodules",
        "gradients-never-cleared",
        "step-without-new-gradients",
        "step-never-called",
        "gradients-thrown-away",
        "detached-from-loss",
        "evaluated-copy-never-changes",
        "clipped-after-step",
        "learning-rate-zero",
        "exploding-gradients",
        "uninformative-labels",
    )
    listens = (GraphWalked, OptimizerStep, Custody)

    def __init__(self) -> None:
        self._reached: set[int] = set()  # by the backward passes of the step that is going on
        self._stepped = False
        self._idle: set[int] = set()  # optimizers whose last step had nothing to work with

    def observe(self, event: Event) -> Findings:
        if isinstance(event, GraphWalked):
            if self._stepped:
                self._reached.clear()
                self._stepped = False
            self._reached.update(event.parameters)
        elif isinstance(event, OptimizerStep):
            self._stepped = True
            idle = event.backwards == 0 and not event.touched and not event.closure
            (self._idle.add if idle else self._idle.discard)(event.optimizer)
        elif isinstance(event, Custody):
            yield from self._audit(event)

    def _audit(self, event: Custody) -> Findings:
        own = [link.key for link in event.links if event.optimizer in link.owners]
        held = [*own, *(key for key, _ in event.strangers)]
        orphans = [link for link in event.links if is_orphan(link)]
        broken = event.optimizer in self._idle and held and orphans and not self._reached.intersection(held)
        if self.in_a_row(event.optimizer, bool(broken)) < TWICE or not self.once(event.optimizer):
            return
        homes = {home for _, home in event.strangers}
        gone = homes == {0}
        names = [link.name for link in orphans]
        cause = (
            "the parameters it holds belong to another object than the one that is trained, such as a copy"
        )
        remedy = "build the optimizer from the model that the loop calls, after it was copied, loaded or re-created"
        if gone:
            cause = "its parameters belong to no model any more: the model, or its parameters, were replaced after it was built"
        if gone and all(link.sharded for link in orphans):
            cause = "sharding the model replaced every parameter after the optimizer was built; it still holds the old ones"
            remedy = "call `fully_shard` first, then build the optimizer from `model.parameters()`"
        yield self.finding(
            event,
            f"the optimizer holds {count(len(held), 'parameter')} that get no gradient, and none of "
            f"{parameters_of(names)}, which do",
            cause=cause,
            remedy=remedy,
            module=names[0].rpartition(".")[0] or None,
            held=len(held),
            without_optimizer=len(names),
        )


def is_orphan(link: Link) -> bool:
    """It is trainable and gets a gradient, and nothing moves it: no optimizer, and no update by hand."""
    graded = link.gradient or (link.sharded and link.graded)  # 0 in this piece says nothing about the others
    return bool(link.trainable and graded and not link.owners and not link.shifted)

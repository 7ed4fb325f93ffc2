from premortem.amounts import count
from premortem.detectors.base import STILL, Card, Detector, Finding, Findings, Severity
from premortem.detectors.optimizer_holds_other_parameters import is_orphan
from premortem.detectors.shared.optimizers import Optimizers
from premortem.detectors.shared.wording import parameters_of, where
from premortem.events import (
    Custody,
    Event,
    Forward,
    GraphWalked,
    Link,
    Loose,
    ModelSeen,
    OptimizerBuilt,
    OptimizerStep,
    Site,
)

CERTAIN = 2  # sightings that are enough when it is clear how the parameter was lost
LIKELY = 8  # ... when all that is known is that it was left out
_TWICE = "two optimizers were given the same parameters, and this model none"
LATE = 16  # optimizer steps; by then a second optimizer would have been built
LONG = 100  # steps without one of its own: of two that take turns, the one that waits is rarely made to wait longer


class ParameterWithoutOptimizer(Detector):
    """A trainable parameter gets gradients, and no optimizer holds it.

    ## Why it matters
    It keeps the values it was initialised with. The rest of the model learns around it, so the loss falls and
    nothing looks wrong.

    ## Usual causes
    - a head was replaced or added after the optimizer was built
    - layers were unfrozen later, and the optimizer was built from what was trainable before
    - two optimizers were given the same model, and the other model none
    - an encoder, an embedding or a learnable loss weight was forgotten in the list of parameters

    ## What to do
    Build the optimizer after the last change of the model, or call `optimizer.add_param_group(...)`.
    If the parameter should stay fixed, freeze it: `parameter.requires_grad_(False)`.

    ## When it stays silent
    When an optimizer that took part since this one was built holds it, and when an optimizer was built on a part of a model that was loaded or trained before (a new head on a known
    body), when the parameter is moved by hand, as EMA copies are, and when it belongs to a network that only
    measures (a perceptual loss) or gives targets (a copy of the trained one).
    """

    card = Card("PM103", "parameter-without-optimizer", "optimizer-ownership", Severity.ERROR).explaining(
        *STILL,
        "gradients-never-cleared",
        "gradients-cleared-before-step",  # an optimizer that holds others steps on nothing
        "exploding-gradients",
    )
    uses = (Optimizers,)
    listens = (ModelSeen, Forward, OptimizerBuilt, OptimizerStep, GraphWalked, Custody)

    def __init__(self) -> None:
        # By its place in its model, not by itself: a parameter may be made anew in every step.
        self._sightings: dict[tuple[int, str], int] = {}
        self._copies: dict[int, int] = {}  # model -> the one it is a copy of
        self._calls: dict[int, list[int | None]] = {}  # model -> whose output it was called on, in this step
        self._frozen_before: set[int] = set()  # keys seen frozen since the newest optimizer was built
        self._reached: set[int] = set()
        self._recent: set[int] = set()  # reached in the step that is going on
        self._stepped = False
        self._built: dict[int, int] = {}  # optimizer -> step of the run
        self._last: dict[int, int] = {}  # ... and its own last one
        self._loose: dict[int, tuple[int, int, int]] = {}  # key -> value, last step it was seen, sightings
        self._told: set[int] = set()

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ModelSeen):
            if event.copy_of is not None:
                self._copies[event.model] = event.copy_of
        elif isinstance(event, Forward):
            self._begin()
            if event.grad:
                self._calls[event.model] = [*self._calls.get(event.model, [])[:7], event.source]
        elif isinstance(event, OptimizerBuilt):
            self._frozen_before.clear()
            self._built.setdefault(event.optimizer, event.step)
        elif isinstance(event, OptimizerStep):
            self._stepped = True
            self._last[event.optimizer] = event.step
        elif isinstance(event, GraphWalked):
            self._begin()
            self._reached.update(event.parameters)
            self._recent.update(event.parameters)
            yield from self._bare(event)
        elif isinstance(event, Custody):
            yield from self._audit(event)

    def _begin(self) -> None:
        if self._stepped:
            self._stepped = False
            self._recent.clear()
            self._calls.clear()

    def _audit(self, event: Custody) -> Findings:
        orphans = []
        gone = self._gone(event)
        given_up = set()  # by an optimizer of an earlier phase, which still holds it
        trained = {link.model for link in event.links if link.owners}
        for seen in event.links:
            link = seen
            if seen.owners and seen.key in self._frozen_before and gone.issuperset(seen.owners):
                link = seen._replace(owners=())
                given_up.add(seen.key)
            spot = (link.model, link.name)
            if not link.trainable:
                self._frozen_before.add(link.key)
            if is_orphan(link) and not link.hidden and not self._is_copy(link, trained):
                self._sightings[spot] = self._sightings.get(spot, 0) + 1
                if link.key not in self._told:
                    orphans.append(link)
            else:
                self._sightings.pop(spot, None)
        groups: dict[tuple[str, str, Severity], list[Link]] = {}
        for link in orphans:
            verdict = self._judge(event, link)
            if verdict is not None:
                groups.setdefault(verdict, []).append(link)
        for (what, remedy, severity), links in groups.items():
            self._told.update(link.key for link in links)
            names = [link.name for link in links]
            verb = "gets gradients and is" if len(names) == 1 else "get gradients and are"
            yield self.finding(
                event,
                f"{parameters_of(names)} {verb} in no optimizer{' that steps' if given_up & {link.key for link in links} else ''}",
                at=self._second() if what == _TWICE else None,
                cause=what,
                remedy=remedy,
                severity=severity,
                **where(names),
                parameters=len(names),
            )

    def _gone(self, event: Custody) -> set[int]:
        """Optimizers of an earlier phase: this one was built after their last step, long ago."""
        built = self._built.get(event.optimizer, event.step)
        if event.step - built < LONG:
            return set()
        return {key for key, last in self._last.items() if last <= built and key != event.optimizer}

    def _is_copy(self, link: Link, trained: set[int]) -> bool:
        """A teacher, or a network whose output is a target: another of its kind is the one that is trained."""
        return link.model not in trained and self._copies.get(link.model) in trained

    def _measures(self, link: Link) -> bool:
        """A network that the loss is made of (a perceptual loss): it is shown the output and the target."""
        calls = self._calls.get(link.model, [])
        return len(calls) > 1 and any(source is not None for source in calls)

    def _judge(self, event: Custody, link: Link) -> tuple[str, str, Severity] | None:
        """Why it is in no optimizer, what to do, and how sure that is."""
        seen = self._sightings[link.model, link.name]
        known = link.loaded or link.trained
        given = self.fact(Optimizers).held(event.optimizer)
        unused = [  # an engine may have put in something of its own since, such as a flat copy
            (key, home)
            for key, home in event.strangers
            if key not in self._recent and (key in given or not given)
        ]
        lost = [home for key, home in unused if home == 0 or key not in self._reached]
        rebuild = "build the optimizer after the model was changed, or call `optimizer.add_param_group`"
        if seen >= CERTAIN:
            if link.born_after and not known:
                return "it was made after this optimizer was built", rebuild, Severity.ERROR
            if lost and (not known or all(home == 0 for home in lost)):
                held = f"{count(len(lost), 'parameter')} that no loss reaches, of a part that was replaced"
                return f"this optimizer still holds {held}", rebuild, Severity.ERROR
            if link.key in self._frozen_before:
                cause = "it was frozen when this optimizer was built, and unfrozen later"
                return (
                    cause,
                    "give it to the optimizer when it is unfrozen: `add_param_group`",
                    Severity.ERROR,
                )
            if self._same_twice() and not known:
                return _TWICE, "build one of the two optimizers from this model's parameters", Severity.ERROR
        left_out = not known and not link.twin and seen >= LIKELY and not self._measures(link)
        if left_out and sum(self.fact(Optimizers).steps.values()) >= LATE:
            cause = "the optimizer was built from a part of the model, and this was never loaded or trained before"
            return (
                cause,
                "add it to the optimizer, or freeze it with `requires_grad_(False)`",
                Severity.WARNING,
            )
        return None

    def _same_twice(self) -> bool:
        optimizers = self.fact(Optimizers)
        stepping = [optimizers.held(key) for key in optimizers.steps]
        return len(stepping) > len(set(stepping)) and len(set(stepping)) == 1

    def _second(self) -> Site | None:
        """Where the later one was built: a line is copied, and its argument forgotten."""
        optimizers = self.fact(Optimizers)
        return optimizers.at(max(optimizers.steps, key=list(optimizers.built).index))

    def _bare(self, event: GraphWalked) -> Findings:
        """Parameters outside of every model: a learnable loss weight, a layer inside a plain object."""
        for loose in event.loose:
            if loose.key in self._told or loose.loaded or loose.version > LIKELY:
                continue
            value, step, times = self._loose.get(loose.key, (loose.value, -1, 0))
            if value != loose.value:  # moved by hand
                self._told.add(loose.key)
            elif step != event.step:
                self._loose[loose.key] = (loose.value, event.step, times + 1)
                if times + 1 >= LIKELY and self.fact(Optimizers).steps:
                    yield self._found_bare(event, loose)

    def _found_bare(self, event: GraphWalked, loose: Loose) -> Finding:
        others = [other for other in event.loose if self._loose.get(other.key, (0, 0, 0))[2] >= LIKELY - 1]
        self._told.update(other.key for other in [loose, *others])
        name = f"`{loose.name}`" if loose.name else f"an `nn.Parameter` of shape {loose.shape}"
        more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
        return self.finding(
            event,
            f"{name}{more} gets gradients and is in no model and no optimizer",
            cause="it was made outside of every module that is called, so `model.parameters()` does not have it",
            remedy="register it in the model, or give it to the optimizer beside the model's parameters",
            parameter=loose.name or None,
            parameters=max(1, len(others)),
        )

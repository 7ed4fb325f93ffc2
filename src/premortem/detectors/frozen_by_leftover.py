from collections import Counter

from premortem.amounts import count
from premortem.detectors.base import STILL, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.wording import parameters_of, place, where
from premortem.events import (
    Custody,
    Event,
    FileLoaded,
    Link,
    Misspelt,
    ModelSeen,
    OptimizerBuilt,
    RunEnded,
    StateLoaded,
)

SIGHTINGS = 4  # audits in which it stayed frozen: one or two may be a phase that ends
MANY = 8  # audits, where nothing but the missing gradient speaks against it
LASTING = 100  # steps that a phase must have lasted to be no warm-up
SETTLED = 12  # steps, after which the phases of a short run have begun
MOST_PHASES = 16  # that are remembered: a script that makes more builds an optimizer for each task


class Phase:
    """One optimizer: its groups of parameters, and what was seen of all parameters in its audited steps."""

    def __init__(self) -> None:
        self.groups: list[frozenset[int]] = []
        self.stepped = False
        self.frozen: Counter[int] = Counter()
        self.thawed: set[int] = set()

    @property
    def held(self) -> frozenset[int]:
        return frozenset().union(*self.groups)


class FrozenByLeftover(Detector):
    """A part of the model that has learned nothing yet is frozen.

    ## Why it matters
    Freezing keeps what was learned. A layer with random weights that is frozen stays random: a new head that was
    frozen together with the body can never fit its classes.

    ## Usual causes
    - the freezing loop runs over `model.parameters()` after the new head was put in
    - a `freeze()` of an earlier experiment is still called, and nothing is loaded any more
    - a second phase builds its optimizer on the whole model, but does not unfreeze it
    - `p.require_grad = True`, or `module.requires_grad = True`: misspelt, these do nothing

    ## What to do
    Freeze the body only, before the new head is made; unfreeze with `module.requires_grad_(True)`.

    ## When it stays silent
    When the frozen weights were loaded, trained or computed before, and when a whole model is frozen (a teacher,
    a perceptual loss). Most of a model that is frozen is reported after a hundred steps, or at the end: blocks may be trained in
    turn.
    """

    card = Card("PM112", "frozen-by-leftover", "grad-flow", Severity.ERROR).explaining(
        *STILL, "loss-without-graph"
    )
    listens = (ModelSeen, OptimizerBuilt, StateLoaded, FileLoaded, Custody, RunEnded)

    def __init__(self) -> None:
        self._frozen: Counter[int] = Counter()  # audited steps in which a parameter was frozen
        self._thawed: set[int] = set()  # trainable at some time
        self._loaded = False  # anything, by any way
        self._trained = False
        self._phases: dict[int, Phase] = {}  # by optimizer, the newest last
        self._misspelt: dict[tuple[str, str], Misspelt] = {}
        self._told: set[str] = set()
        self._since: dict[int, int] = {}
        self._waiting: tuple[Finding, frozenset[int]] | None = None
        self._from_the_start: set[int] = set()  # frozen when their optimizer was built
        self._later: tuple[Finding, frozenset[int]] | None = None
        self._whole: tuple[Finding, frozenset[int], int] | None = None  # most of a model, and since when
        self._asleep: tuple[Finding, frozenset[int], Phase] | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, (StateLoaded, FileLoaded)):
            self._loaded = True
        elif isinstance(event, OptimizerBuilt):
            self._from_the_start.update(event.frozen)
            phase = self._phases.pop(event.optimizer, None) or Phase()
            phase.groups = [frozenset(group.parameters) for group in event.groups]
            self._phases[event.optimizer] = phase
            if len(self._phases) > MOST_PHASES:
                del self._phases[next(iter(self._phases))]
        elif isinstance(event, ModelSeen):
            self._misspelt.update({(m.owner, m.attribute): m for m in event.misspelt})
        elif isinstance(event, Custody):
            self._count(event)
            yield from self._audit(event)
        elif isinstance(event, RunEnded) and event.step >= SETTLED and not event.cut_off:
            yield from self._at_the_end()

    def _count(self, event: Custody) -> None:
        phase = self._phases.get(event.optimizer) or Phase()
        phase.stepped = True
        for link in event.links:
            self._trained = self._trained or link.trained
            if link.trainable:
                self._thawed.add(link.key)
                phase.thawed.add(link.key)
            else:
                self._frozen[link.key] += 1
                phase.frozen[link.key] += 1

    def _audit(self, event: Custody) -> Findings:
        yield from self._words(event)
        for model in dict.fromkeys(link.model for link in event.links):
            links = [link for link in event.links if link.model == model]
            if not any(link.trainable and link.gradient for link in links):
                continue  # a model that is frozen as a whole is frozen on purpose
            raw = [link for link in links if self._is_raw(link)]
            head = [link for link in raw if link.head]
            if any(link.fresh for link in head):
                yield from self._head(event, links, head)
            yield from self._body(event, links, raw)
            self._frozen_since(event, links, raw)
            yield from self._second_phase(event, links)

    def _is_raw(self, link: Link) -> bool:
        """Frozen all the time, and nothing was ever put into it."""
        known = link.loaded or link.trained or link.shifted or link.twin or link.moved
        return not link.trainable and link.key not in self._thawed and not known

    def _head(self, event: Custody, links: list[Link], head: list[Link]) -> Findings:
        if not head or "head" in self._told or min(self._frozen[link.key] for link in head) < SIGHTINGS:
            return
        names = [link.name for link in head]
        others = sum(1 for link in links if not link.trainable) > len(head)
        since = min(self._since.setdefault(link.key, event.step) for link in head)
        finding = self.finding(
            event,
            f"the last layer, {parameters_of(names)}, is frozen with the weights it was initialised with",
            cause="nothing was loaded into it and no optimizer has moved it: it was frozen together with the rest",
            remedy="unfreeze it: freeze the body before the new head is put in, or `head.requires_grad_(True)`",
            # A fixed random read-out on an otherwise trained network is odd, but may be a choice.
            severity=Severity.ERROR if others else Severity.WARNING,
            **where(names),
        )
        # Parts that take turns are frozen for a while, and left out of the optimizer: only what stays frozen is
        # a leftover.
        held = any(event.optimizer in link.owners for link in head)
        if not held and event.step - since < LASTING:
            self._waiting = (finding, frozenset(link.key for link in head))
            return
        self._told.add("head")
        yield finding

    def _frozen_since(self, event: Custody, links: list[Link], raw: list[Link]) -> None:
        """Layers that were trainable when their optimizer was built, and have not been since."""
        used = [link for link in raw if link.fresh and (link.ran or link.ran_without_grad)]
        held = [
            link for link in used if event.optimizer in link.owners and link.key not in self._from_the_start
        ]
        since = [link for link in held if self._frozen[link.key] >= SIGHTINGS]
        # One layer of many that was frozen is perhaps a choice; most of the model is none.
        most = 2 * sum(link.numel for link in since) > sum(link.numel for link in links)
        layers = {link.name.rpartition(".")[0] for link in since}
        if (len(layers) < 2 and not most) or self._later is not None:
            return
        names = [link.name for link in since]
        finding = self.finding(
            event,
            f"{parameters_of(names)} ({sum(link.numel for link in since):,} values) are frozen with the random weights "
            "they were initialised with, although the optimizer was built for them",
            cause="they were frozen after the optimizer was built, and nothing was loaded into them: they cannot learn",
            remedy=f"call `{place(names) or 'model'}.requires_grad_(True)`, or leave them out of the optimizer",
            severity=Severity.WARNING,
            **where(names),
        )
        self._later = (finding, frozenset(link.key for link in since))

    def _at_the_end(self) -> Findings:
        if self._whole is not None and not self._told and not self._whole[1] & self._thawed:
            self._told.add("body")
            yield self._whole[0]
        if self._later is not None and not self._told and not self._later[1] & self._thawed:
            yield self._later[0]
        if self._waiting is not None and "head" not in self._told and not self._waiting[1] & self._thawed:
            yield self._waiting[0]
        if self._asleep is not None and "phase" not in self._told:
            finding, asleep, phase = self._asleep
            if not asleep & phase.thawed:
                yield finding

    def _body(self, event: Custody, links: list[Link], raw: list[Link]) -> Findings:
        """Most of a model that is trained from scratch. Blocks that take turns are frozen for a while, too."""
        if self._whole is not None and self._whole[1] & self._thawed:
            self._whole = None
        if self._whole is not None and event.step - self._whole[2] >= LASTING and "body" not in self._told:
            self._told.add("body")
            yield self._whole[0]
        probe = only_the_end_is_trained(links)
        fresh = [
            link for link in raw if link.fresh and (link.owners or probe) and self._frozen[link.key] >= MANY
        ]
        frozen = sum(link.numel for link in links if not link.trainable and link.key not in self._thawed)
        # One random layer in front of a trained one is a method (random features); a whole random body is none.
        layers = {link.name.rpartition(".")[0] for link in fresh}
        if self._loaded or self._trained or len(layers) < 2 or "body" in self._told or "head" in self._told:
            return
        if 2 * frozen < sum(link.numel for link in links) or 2 * sum(link.numel for link in fresh) < frozen:
            return
        names = [link.name for link in links if not link.trainable]
        finding = self.finding(
            event,
            f"{count(len(names), 'parameter')} of `{place([link.name for link in links])}` are frozen with random "
            f"weights ({frozen:,} of {sum(link.numel for link in links):,} values)",
            cause="no weights were loaded and nothing was trained before, so freezing keeps random values",
            remedy="load the weights that should be kept, or unfreeze the model",
            severity=Severity.WARNING,
            **where(names),
        )
        if self._whole is None:
            self._whole = (finding, frozenset(link.key for link in fresh), event.step)

    def _second_phase(self, event: Custody, links: list[Link]) -> Findings:
        """A later optimizer takes over parameters that the first one did not have, and all are still frozen."""
        phase = self._phases.get(event.optimizer)
        if phase is None or "phase" in self._told:
            return
        mine = phase.held
        earlier = list(self._phases.values())[: list(self._phases).index(event.optimizer)]
        before = [each.held for each in earlier if each.stepped and each.held < mine]
        if not before:
            return
        added = [link for link in links if link.key in mine and link.key not in before[-1]]
        still = [link for link in added if not link.trainable and link.key not in phase.thawed]
        if not added or len(still) < len(added) or min(phase.frozen[link.key] for link in still) < SIGHTINGS:
            return
        names = [link.name for link in still]
        finding = self.finding(
            event,
            f"the new optimizer took over {parameters_of(names)}, and all of them are still frozen",
            cause="the earlier optimizer did not hold them: this phase should train them, but the script did not unfreeze them",
            remedy=f"call `{place(names) or 'model'}.requires_grad_(True)` before this optimizer is built",
            severity=Severity.WARNING,
            **where(names),
        )
        asleep = frozenset(link.key for link in still)
        if not asleep & self._thawed:
            self._told.add("phase")
            yield finding
        elif any(group <= asleep for group in phase.groups):
            # Trained in an earlier phase, and given a group of their own now. They may be unfrozen in a while.
            self._asleep = (finding, asleep, phase)

    def _words(self, event: Custody) -> Findings:
        words: dict[tuple[str, bool], list[Misspelt]] = {}
        for word in self._misspelt.values():
            words.setdefault((word.attribute, word.value), []).append(word)
        for (attribute, value), meant in words.items():
            keys = {key for word in meant for key in word.parameters}
            names = [link.name for link in event.links if link.key in keys and link.trainable != value]
            if not names or attribute in self._told:
                continue
            self._told |= {attribute, "phase"}
            owner = meant[0].owner if len(meant) == 1 else place(word.owner for word in meant)
            yield self.finding(
                event,
                f"`{attribute} = {value}` does nothing: {parameters_of(names)} "
                f"{'stays' if len(names) == 1 else 'stay'} {'frozen' if value else 'trainable'}",
                cause="torch reads no such attribute there: the assignment made a new one, which nothing uses",
                remedy=f"call `.requires_grad_({value})` on the module, or set `requires_grad` of each parameter",
                module=owner or None,
                parameter=names[0],
            )


def only_the_end_is_trained(links: list[Link]) -> bool:
    """All that is trainable comes after all that is not, as in a fine-tuning: adapters stand in between."""
    frozen = [place for place, link in enumerate(links) if not link.trainable]
    trained = [place for place, link in enumerate(links) if link.trainable]
    return bool(frozen and trained) and max(frozen) < min(trained)

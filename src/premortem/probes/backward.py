"""`backward()`: what it was called on, what it reached, and whether old graphs stay alive."""

import functools
import weakref
from collections import Counter, deque
from collections.abc import Callable
from threading import get_ident
from typing import Any

import torch

from premortem.events import Backward, GradTaken, GraphWalked, Loose, Site
from premortem.points import passes_on
from premortem.probes.draws import Draws
from premortem.probes.graph import Root, Tag, rest_of, root_of, unscaled, walk
from premortem.probes.loss_meaning import crossed, feeds, sense, weighed_by_an_error
from premortem.probes.manual_updates import ByHand
from premortem.probes.masked_choices import MaskedChoices
from premortem.probes.modules import Models
from premortem.probes.noise_spread import misread
from premortem.probes.nonfinite_origin import NonFiniteOrigin
from premortem.probes.optimizers import Optimizers
from premortem.probes.recent_data import Recent
from premortem.probes.row_weights import weighed
from premortem.probes.session import (
    COMPILER,
    COMPILING,
    Session,
    sampled,
    tensors_in,
    user_name,
    user_site,
)

_REMEMBERED = 4096
MOST_LOSSES = 64  # of one step: more micro-batches than that are not remembered one by one
_MOST_WALKS = 8  # of the graphs that one line sends backward in one step: a closure is called twenty times
_UNKNOWN = Root(1.0, "", False)


class Backwards:
    """Wraps `torch.autograd.backward`, which `Tensor.backward` calls."""

    def __init__(
        self,
        session: Session,
        optimizers: Optimizers,
        models: Models,
        byhand: ByHand,
        nonfinite_origin: NonFiniteOrigin,
        draws: Draws,
        choices: MaskedChoices,
        recent: Recent,
    ) -> None:
        self.session = session
        self.recent = recent
        self.choices = choices
        self.draws = draws
        self.optimizers = optimizers
        self.models = models
        self.byhand = byhand
        self.nonfinite_origin = nonfinite_origin
        self.reached: set[int] = set()  # parameter keys the graphs led to since the last step (audit)
        self.looked = False
        # The scalars of this step, for the step's numbers: of all micro-batches, as the first may be the broken one.
        self.losses: deque[torch.Tensor] = deque(maxlen=MOST_LOSSES)
        self.factor = 1.0  # that the script multiplied the last loss with: 0.25 for `loss / 4`
        self._tags: deque[weakref.ref[Tag]] = deque(maxlen=_REMEMBERED)
        self._untrained: tuple[int, ...] = ()
        self._walks: Counter[Site | None] = Counter()  # backward passes of this step, by their line
        # Memory ran out in a backward pass: whether the script may go on as if it had not.
        self.out_of_memory: Callable[[Exception, Site | None], bool] | None = None
        # Where a run can be ended that has made no step: nothing was moved yet.
        self.without_steps: Callable[[], None] | None = None

    def install(self) -> None:
        self.session.layer(torch.autograd, "backward", self._wrap, quiet=self._wrap_counted, asks=True)
        self.session.around(
            torch.autograd, "grad", before=self._differentiated, after=self._gave_gradients, quiet=None
        )

    def _differentiated(self, *args: Any, **kwargs: Any) -> None:
        """`autograd.grad` (an attack, a penalty, an inner loop) uses forwards as a backward does."""
        self.session.passes += 1
        used = self.models.graphs.used()
        if used:
            self.session.emit(GradTaken(step=self.session.step, at=user_site(), forwards=used))

    def _gave_gradients(self, _: None, result: Any, outputs: Any, *args: Any, **kwargs: Any) -> None:
        """Of a model's parameters, in a step that is looked at operation by operation, and without `create_graph`."""
        site, asked = user_site(), kwargs.get("create_graph", args[3] if len(args) > 3 else False)
        if self.session.scope is None or site is None or asked:
            return
        leaves = [leaf for output in tensors_in(outputs) for leaf in walk(output).leaves]
        if any(isinstance(leaf, torch.nn.Parameter) for leaf in leaves):
            self.session.plain_gradients.given(tensors_in(result), site)

    def _wrap(self, original: Any) -> Any:
        session = self.session

        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            leftovers, at, root = False, None, _UNKNOWN
            with session.looking_at("backward"):
                at = user_site()
                root = root_of(roots[0]) if (roots := tensors_in(tensors)) else root
                leftovers = self._starts(tensors, at)
            ended = functools.partial(self._ended, tensors, at, leftovers, root)
            result = self._run(original, tensors, args, kwargs, at, ended)
            with session.looking_at("backward"):
                ended()
            if self.without_steps is not None and not session.step and self.optimizers.inside is None:
                self.without_steps()
            return result

        return backward

    def _wrap_counted(self, original: Any) -> Any:
        """In a rested step. A loss on the CPU is looked at, as ever."""
        session, rest = self.session, self.session.rest

        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            # As `Session.listening`; this and the loss of a pass stand here because each call of Python's is felt.
            if session.looking or not session.on or get_ident() != session.thread or COMPILER.get(COMPILING):
                return original(tensors, *args, **kwargs)
            rest.dark = True
            rest.backwards += 1
            try:
                single = type(tensors) is torch.Tensor and tensors.numel() == 1
                node: Any = tensors.grad_fn if single else None
                if node is None or not tensors.is_cpu or node.metadata or tensors.is_complex():
                    self._count(tensors)
                else:
                    self.losses.append(tensors.detach())
                    if not -rest.loudest <= tensors.item() <= rest.loudest:
                        self._louder(tensors, tensors.item())
            except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
                session.fault("backward", error)
            session.in_backward = True
            session.passes += 1
            try:
                return original(tensors, *args, **kwargs)
            except Exception as error:
                failed = error
                if not self._failed(error, tensors):
                    raise
            finally:
                session.in_backward = False
            # Outside of `except`, which would keep what the failed pass has made.
            if self.out_of_memory is None or not self.out_of_memory(failed, None):
                raise failed
            return None

        return backward

    def _failed(self, error: Exception, tensors: Any) -> bool:
        """A rested pass has raised. Whether memory ran out."""
        with self.session.looking_at("backward"):
            self._ended(tensors, None, False, _UNKNOWN, error=str(error))
        return isinstance(error, torch.cuda.OutOfMemoryError)

    def _count(self, tensors: Any) -> None:
        root = tensors if type(tensors) is torch.Tensor else next(iter(tensors_in(tensors)), None)
        if root is None or root.numel() != 1:
            return
        loss = unscaled(root)
        self.losses.append(loss)
        if not loss.is_cpu or loss.is_complex():
            return
        self._louder(root, loss.item())

    def _louder(self, root: torch.Tensor, value: float) -> None:
        """The loss of a rested pass, which may be larger than any before."""
        if not self.session.rest.lost(value):
            with self.session.looking_at("backward"):
                self.nonfinite_origin.before(root, user_site())

    @passes_on
    def _run(
        self, original: Any, tensors: Any, args: Any, kwargs: Any, at: Site | None, ended: Callable[..., None]
    ) -> Any:
        session = self.session
        session.in_backward = True
        session.passes += 1
        try:
            return original(tensors, *args, **kwargs)
        except Exception as error:
            with session.looking_at("backward"):
                ended(error=str(error))
            if not isinstance(error, torch.cuda.OutOfMemoryError):
                raise
            failed = error
        finally:
            session.in_backward = False
        # Outside of `except`, which would keep what the failed pass has made.
        if self.out_of_memory is None or not self.out_of_memory(failed, at):
            raise failed
        return None

    def _starts(self, tensors: Any, at: Site | None) -> bool:
        self._untrained = self.models.graphs.untrained()
        self.byhand.backward_starts(at)
        roots = tensors_in(tensors)
        self.session.rest.backwards += 1
        self._walks[at] += 1
        if self.session.auditing and roots and self._walks[at] <= _MOST_WALKS:
            self._walk(roots[0], at)
        if roots:
            self.nonfinite_origin.before(roots[0], at)
        for root in roots[:1]:
            node: Any = root.grad_fn
            if node is not None:
                tag = Tag()
                node.metadata["premortem"] = tag
                self._tags.append(weakref.ref(tag))
        return self.optimizers.gradients.backward_starts()

    def _walk(self, loss: torch.Tensor, at: Site | None) -> None:
        found = walk(loss)
        keys = self.session.parameters
        names = self.models.registry.names()
        reached = {key for leaf in found.leaves if (key := keys.known(leaf)) is not None}
        self.reached |= reached
        self.looked = True
        self.session.emit(
            GraphWalked(
                step=self.session.step,
                at=at,
                parameters=tuple(sorted(reached)),
                other_leaves=sum(1 for leaf in found.leaves if keys.known(leaf) not in names),
                ops=tuple(found.ops),
                broadcasts=tuple(found.broadcasts),
                negated=found.negated,
                constant=found.constant,
                rest=rest_of(loss) if found.constant else None,
                plain_gradients=self.session.plain_gradients.at([loss]),
                plain_weights=self.session.plain_weights.at([loss]),
                loose=self._loose(found.leaves, names),
                sense=sense(loss),
                feeds=feeds(found.nodes),
                crossed=crossed(found.nodes),
                weighed_by_error=weighed_by_an_error(found.nodes),
                size=len(found.nodes),
                pulls=self.models.judgements.pulls(loss, found.nodes),
                misread=misread(found.nodes, self.draws.is_noise),
                chosen=self.choices.used_in(found.nodes),
                handed=self.models.layers.states.used_in(found.nodes),
                weighed=weighed(found.nodes, self.recent),
            )
        )

    def _loose(self, leaves: list[torch.Tensor], names: dict[int, Any]) -> tuple[Loose, ...]:
        keys = self.session.parameters
        strange = [
            leaf for leaf in leaves if isinstance(leaf, torch.nn.Parameter) and keys.known(leaf) not in names
        ]
        if not strange:
            return ()
        held = self.optimizers.held()
        return tuple(
            Loose(
                keys.of(leaf),
                user_name(leaf) or self.models.registry.owner_name(leaf),
                tuple(leaf.shape),
                leaf._version,
                hash(tuple(sampled(leaf, 8))),
                keys.of(leaf) in self.session.loaded,
            )
            for leaf in strange[:16]
            if id(leaf) not in held
        )

    def _ended(self, tensors: Any, at: Site | None, leftovers: bool, root: Root, error: str = "") -> None:
        roots = tensors_in(tensors)
        loss = roots[0].detach() if roots and roots[0].numel() == 1 else None
        value = float(loss) if loss is not None and loss.device.type == "cpu" else None
        if loss is not None:
            self.losses.append(unscaled(roots[0]))
            self.factor = root.scale
        reached = self.optimizers.gradients.backward_ended(at, value, root.scaled)
        self.byhand.backward_ended()
        self.session.emit(
            Backward(
                step=self.session.step,
                at=at,
                value=value,
                inside_step=self.optimizers.inside is not None,
                grad_before=leftovers,
                optimizers=reached,
                scale=root.scale,
                root=root.op,
                scaled=root.scaled,
                divided=root.divided,
                untrained=self._untrained,
                alive=self._alive(),
                kept=self.models.graphs.kept(),
                inside=self.models.graphs.kept_inside() if self.session.auditing else (0, 0),
                error=error,
                grads_finite=None if error else self.nonfinite_origin.after(value, at),
            )
        )

    def _alive(self) -> int:
        while self._tags and self._tags[0]() is None:
            self._tags.popleft()
        if len(self._tags) < 3:
            return 0
        return sum(1 for tag in self._tags if tag() is not None) - 1

    def step_ended(self) -> None:
        self.reached.clear()
        self.looked = False
        self._walks.clear()
        self.losses.clear()

import ast
from collections.abc import Iterator

from premortem.lint.provenance import functions_called
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import (
    bound_in,
    calls_in,
    conditions,
    is_epochs,
    is_loader,
    is_test,
    names_in,
    without_grad,
)
from premortem.lint.tree import Loop, dotted, last_name

SEEDS = frozenset(
    "torch.manual_seed torch.random.manual_seed torch.cuda.manual_seed torch.cuda.manual_seed_all random.seed "
    "numpy.random.seed".split()
)
HELPERS = frozenset(
    "transformers.set_seed transformers.trainer_utils.set_seed accelerate.utils.set_seed lightning.seed_everything "
    "lightning.pytorch.seed_everything pytorch_lightning.seed_everything".split()
)
STATE = frozenset(
    "fork_rng get_rng_state set_rng_state getstate setstate get_state set_state randperm shuffle permutation".split()
)


class SeedSetInTheLoop(Rule):
    """The random generators are set to the same seed again in every turn of the training loop.

    ## Why it matters
    Dropout masks, noise, augmentations and the order of the data are then the same every time. Training loses what
    randomness is there for, and nothing in the loss shows it.

    ## Usual causes
    - a call that makes runs repeatable slipped into the loop
    - a fixed seed for sample images, set on the global generator

    ## What to do
    Seed once, before the loop. Where a fixed sample is wanted, use a `torch.Generator` of its own or
    `torch.random.fork_rng()`.

    ## When it stays silent
    When the seed changes with the loop, when the generator's state is put back, when the model is made anew in the
    loop (a series of experiments), and in evaluation.
    """

    card = Card("PM547", "seed-set-in-the-loop", "data-order", Severity.WARNING)
    needs = (b"seed", b"torch")
    triggers = (b".backward(", b"__getitem__")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for name, calls in source.calls.items():
            if "seed" not in name.lower():
                continue
            for call in calls:
                if not self._seeds(source, call) or is_test(source, call) or not _given(call):
                    continue
                if without_grad(source, call) or calls_in(source, source.scope(call), *STATE):
                    continue
                if what := self._repeated(source, call):
                    yield self.report(
                        source,
                        call,
                        f"`{source.text(call.func)}` sets the same seed again {what}",
                        remedy="Seed once, before the training loop.",
                    )

    @staticmethod
    def _seeds(source: Source, call: ast.Call) -> bool:
        """Whether this call seeds a global generator, itself or as a helper of this file."""
        if source.names.all_in(call.func, SEEDS | HELPERS):
            return True
        return isinstance(call.func, ast.Name) and any(
            source.names.all_in(inner.func, SEEDS)
            for function in functions_called(source, call)
            for inner in calls_in(source, function)
        )

    @staticmethod
    def _repeated(source: Source, call: ast.Call) -> str:
        loops = source.loops_around(call)
        used = {name for value in _given(call) for name in names_in(source, value)}
        function = source.function(call)
        if not loops:
            if function is None or function.name != "__getitem__" or conditions(source, call, function):
                return ""
            parameters = {one.arg for one in function.args.args[1:]}
            moving = used & (bound_in(source, function) | parameters)
            return "" if moving else "for every sample"
        loop = loops[0]
        if conditions(source, call, loop) or used & bound_in(source, loop):
            return ""
        changing = {dotted(value) for value in _given(call)} & {
            name for around in loops for name in bound_in(source, around)
        }
        if changing or not _trains(source, loop) or _experiment(source, loop):
            return ""
        return "in every epoch" if is_epochs(source, loop) else "for every batch"


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _trains(source: Source, loop: Loop) -> bool:
    epochs = is_epochs(source, loop)
    batches = not isinstance(loop, ast.While) and is_loader(source, loop.iter)
    for call in calls_in(source, loop):
        if last_name(call) == "backward" and (epochs or batches or source.loops_around(call)[0] is loop):
            return True
        if epochs and any(calls_in(source, one, "backward") for one in functions_called(source, call)):
            return True
    return False


def _experiment(source: Source, loop: Loop) -> bool:
    """Whether each turn makes its own model or optimizer."""
    for name in bound_in(source, loop):
        last = name.rpartition(".")[2].lower()
        if (
            "optim" in last
            or last in {"model", "net", "network"}
            or source.kinds.of(name) & {"module", "optimizer"}
        ):
            return True
    return False

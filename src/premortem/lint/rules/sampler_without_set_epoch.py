import ast
import re
from collections.abc import Iterator

from premortem.lint.marks import SETS_EPOCH
from premortem.lint.patterns import pattern
from premortem.lint.provenance import callers, values
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import calls_in, helpers, is_epochs, is_test, iterated
from premortem.lint.tree import Loop, argument, constant, dotted, given

SAMPLER = frozenset(("torch.utils.data.DistributedSampler",))
LOADER = frozenset(("torch.utils.data.DataLoader",))
TRAINING = pattern(r"train", re.IGNORECASE)
EVALUATION = pattern(r"val|test|eval|infer|predict", re.IGNORECASE)


class SamplerWithoutSetEpoch(Rule):
    """A `DistributedSampler` shuffles the training data, and nothing calls its `set_epoch`.

    ## Why it matters
    The sampler shuffles with a generator seeded by the epoch number. Without `set_epoch` that number stays 0: every
    epoch shows the same batches in the same order, on every process.

    ## Usual causes
    - the sampler was put in the place of `shuffle=True`, which needs no such call

    ## What to do
    Call `sampler.set_epoch(epoch)` at the start of every epoch.

    ## When it stays silent
    When the file or a function it calls knows `set_epoch`, with frameworks that call it, with `shuffle=False`, and
    when the loader is not seen to be trained on for several epochs. A loader that another file trains on counts where it
    is called a training loader, the project trains over epochs, and no file of it knows `set_epoch`.
    """

    card = Card("PM546", "sampler-without-set-epoch", "data-order", Severity.WARNING)
    needs = (b"DistributedSampler",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if any(source.names.imports(package) for package in SETS_EPOCH) or "set_epoch" in source.calls:
            return
        if "backward" not in source.calls:
            yield from self._for_another_file(source, project)
            return
        reported: set[Loop] = set()
        for loop in source.loops:
            if isinstance(loop, ast.While) or not calls_in(source, loop, "backward"):
                continue
            if is_test(source, loop) or not _is_shuffled(source, iterated(loop.iter)):
                continue
            for outer in self._epochs(source, loop):
                if outer in reported or any(
                    project.does(name, "set_epoch") for name in helpers(source, outer)
                ):
                    continue
                reported.add(outer)
                yield self.report(
                    source,
                    outer.iter if not isinstance(outer, ast.While) else outer.test,
                    "nothing calls set_epoch() on the DistributedSampler: every epoch has the same order",
                    remedy="Call `sampler.set_epoch(epoch)` at the start of every epoch.",
                )

    def _for_another_file(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        """A training loader that is made here and trained on elsewhere."""
        for made in source.nodes(ast.Assign):
            name = dotted(made.targets[0])
            if not TRAINING.search(name) or EVALUATION.search(name) or not isinstance(made.value, ast.Call):
                continue
            if source.names.all_in(made.value.func, LOADER) and _is_shuffled(source, made.value):
                if not is_test(source, made) and project.never_tells_the_epoch:
                    yield self.report(
                        source,
                        made.value,
                        "nothing in this project calls set_epoch() on the DistributedSampler: every epoch has the same "
                        "order",
                        remedy="Call `sampler.set_epoch(epoch)` at the start of every epoch.",
                    )

    @staticmethod
    def _epochs(source: Source, loop: ast.For | ast.AsyncFor) -> Iterator[Loop]:
        around = source.loops_around(loop)
        if around:
            yield around[0]
            return
        function = source.function(loop)
        if function is None or not isinstance(iterated(loop.iter), ast.Name):
            return
        name = iterated(loop.iter).id  # type: ignore[attr-defined]
        for call in callers(source, function):
            handed = given(call, function, name)
            epochs = next((one for one in source.loops_around(call) if is_epochs(source, one)), None)
            if epochs is not None and handed is not None and _is_shuffled(source, handed):
                yield epochs


def _is_shuffled(source: Source, expr: ast.expr) -> bool:
    """Whether this surely is a DataLoader over a shuffling DistributedSampler."""
    made = values(source, expr)
    if not made:
        return False
    for one in made:
        if not isinstance(one, ast.Call) or not source.names.all_in(one.func, LOADER):
            return False
        sampler = argument(one, "sampler", 3)
        samplers = values(source, sampler) if sampler is not None else None
        if not samplers or not any(_shuffles(source, value) for value in samplers):
            return False
    return True


def _shuffles(source: Source, value: ast.expr) -> bool:
    parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    for part in parts:
        if isinstance(part, ast.Call) and source.names.all_in(part.func, SAMPLER):
            chosen = argument(part, "shuffle", 3)
            return chosen is None or constant(chosen) is True
    return False

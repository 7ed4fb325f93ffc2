import ast
import re
from collections.abc import Iterator

from premortem.lint.datasets import reads_by_index
from premortem.lint.patterns import pattern
from premortem.lint.provenance import values
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.trained_on import training_loops
from premortem.lint.training import calls_in, is_test
from premortem.lint.tree import FUNCTIONS, argument, constant, dotted, last_name
from premortem.lint.values import from_elsewhere
from premortem.lint.words_used import mentions

LOADER = frozenset(("torch.utils.data.DataLoader",))
EVALUATION = pattern(r"test|val|eval|infer|predict|query", re.IGNORECASE)
# Words of a file in which the order is made, or means something.
ORDERED = pattern(
    r"shuffle\(|randperm|permutation|random_split|SubsetRandomSampler|^frac$|seq_len|sequence_length|look_?back"
    r"|window|forecast|time_?series|stock|timestep|horizon|stateful|bptt|replay|IterableDataset|streaming",
    re.IGNORECASE,
)


class UnshuffledTrainingLoader(Rule):
    """A training `DataLoader` without `shuffle=True` and without a sampler.

    ## Why it matters
    `DataLoader` does not shuffle by default. Datasets on disk are often sorted by class: each batch then
    holds one class, the loss looks excellent and jumps at every change, and the model learns the last class it saw.

    ## Usual causes
    - `shuffle=True` was forgotten: the default is False

    ## What to do
    `DataLoader(train_set, batch_size=..., shuffle=True)`. Write `shuffle=False` where the order is meant.

    ## When it stays silent
    When the loader is not seen to be trained on, when the dataset is not known to be read by index, when the file
    shuffles or splits at random itself, and where the order carries meaning (series, windows, streams).
    """

    card = Card("PM548", "unshuffled-training-loader", "data-order", Severity.WARNING)
    needs = (b"DataLoader(",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if not any(map(self._leaves_order_open, source.calls_to("DataLoader"))):
            return
        if mentions(source, source.tree, ORDERED, given=True):
            return
        trained: dict[ast.expr, str] = {}
        for _loop, loader in training_loops(source):
            for made in values(source, loader) or ():
                trained[made] = dotted(loader)
        for made in source.calls_to("DataLoader"):
            if not self._leaves_order_open(made) or is_test(source, made):
                continue
            if made not in trained:
                name = _bound_to(source, made)
                if not name or not _is_trained_elsewhere(source, project, made, name):
                    continue
                trained[made] = name
        for made, name in trained.items():
            if not isinstance(made, ast.Call) or not source.names.all_in(made.func, LOADER):
                continue
            if EVALUATION.search(name) or not self._leaves_order_open(made):
                continue
            if self._by_index(source, project, made, name):
                yield self.report(
                    source,
                    made,
                    "this loader is trained on and does not shuffle: the data comes in the order in which it is stored",
                    remedy="Give it `shuffle=True`, or `shuffle=False` if the order is meant.",
                )

    @staticmethod
    def _leaves_order_open(made: ast.Call) -> bool:
        given = {keyword.arg for keyword in made.keywords}
        if given & {None, "shuffle", "sampler", "batch_sampler"} or len(made.args) > 2:
            return False
        size = argument(made, "batch_size", 1)
        return not any(isinstance(arg, ast.Starred) for arg in made.args) and not (
            isinstance(size, ast.Call) or size is None
        )

    @staticmethod
    def _by_index(source: Source, project: Facts, made: ast.Call, name: str) -> bool:
        dataset = argument(made, "dataset", 0)
        called_training = "train" in (name + dotted(dataset)).lower()
        built = values(source, dataset) if dataset is not None else None
        if not built:
            return False
        for one in built:
            if not isinstance(one, ast.Call) or mentions(source, one, EVALUATION, given=True):
                return False
            if constant(argument(one, "train", 1)) is False:
                return False
            names = source.names.of(one.func)
            known = bool(names) and all(spelt.startswith("torchvision.datasets.") for spelt in names)
            rows = called_training and names == {"torch.utils.data.TensorDataset"}
            if not known and not rows and not _reads_by_index(source, project, one):
                return False
        return True


def _bound_to(source: Source, made: ast.Call) -> str:
    """The name that a loader gets, "return" where it is given back at once; "" for anything else."""
    above = source.parent(made)
    if isinstance(above, ast.Assign) and len(above.targets) == 1:
        return dotted(above.targets[0])
    return "return" if isinstance(above, ast.Return) else ""


def _is_trained_elsewhere(source: Source, project: Facts, made: ast.Call, name: str) -> bool:
    """Whether another file trains on a loader: on what this function gives, or on what a class or function is given here."""
    scope = source.scope(made)
    if isinstance(scope, FUNCTIONS) and source.parent(scope) is source.tree:
        for returned in source.returns(scope):
            value = returned.value
            items = value.elts if isinstance(value, ast.Tuple) else [value]
            for place, item in enumerate(items):
                if (item is made or dotted(item) == name) and project.trains_with(
                    scope.name, place, len(items), source.path
                ):
                    return True
    for call in calls_in(source, scope):
        if any(dotted(one) == name for one in (*call.args, *(word.value for word in call.keywords))):
            elsewhere = from_elsewhere(source, call.func)
            for parameter, place in (
                project.trains_on(min(elsewhere), source.path) if len(elsewhere) == 1 else ()
            ):
                if dotted(argument(call, parameter, place)) == name:
                    return True
    return False


def _reads_by_index(source: Source, project: Facts, call: ast.Call) -> bool:
    """Whether this makes a dataset of a class of the project whose samples depend on the index and not on chance."""
    here = [one for one in source.classes if one.name == last_name(call) and isinstance(call.func, ast.Name)]
    if here:
        return reads_by_index(source, here[0])
    elsewhere = from_elsewhere(source, call.func)
    return len(elsewhere) == 1 and project.reads_by_index(min(elsewhere), source.path)

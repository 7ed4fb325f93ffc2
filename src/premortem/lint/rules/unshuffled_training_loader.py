import ast
import re
from collections.abc import Iterator

from premortem.lint.datasets import reads_by_index
from premortem.lint.patterns import pattern
from premortem.lint.provenance import values
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import calls_in, is_test, iterated, without_grad
from premortem.lint.tree import argument, constant, dotted, last_name
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
    needs = (b".backward(", b"DataLoader(")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if mentions(source, source.tree, ORDERED, given=True):
            return
        trained: dict[ast.expr, str] = {}
        for loop in source.loops:
            if isinstance(loop, ast.While) or is_test(source, loop) or without_grad(source, loop):
                continue
            passes = calls_in(source, loop, "backward")
            if not any(source.loops_around(one)[:1] == (loop,) for one in passes):
                continue
            for made in values(source, iterated(loop.iter)) or ():
                trained[made] = dotted(iterated(loop.iter))
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


def _reads_by_index(source: Source, project: Facts, call: ast.Call) -> bool:
    """Whether this makes a dataset of a class of the project whose samples depend on the index and not on chance."""
    here = [one for one in source.classes if one.name == last_name(call) and isinstance(call.func, ast.Name)]
    if here:
        return reads_by_index(source, here[0])
    elsewhere = from_elsewhere(source, call.func)
    return len(elsewhere) == 1 and project.reads_by_index(min(elsewhere), source.path)

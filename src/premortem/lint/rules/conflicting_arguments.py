import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.tree import argument, constant, last_name

_LOADER = frozenset(("torch.utils.data.DataLoader",))
_ARGUMENTS = frozenset(f"transformers.{name}" for name in ("TrainingArguments", "Seq2SeqTrainingArguments"))


class ConflictingArguments(Rule):
    """Two arguments of one call exclude each other, and the call raises.

    ## Why it matters
    `DataLoader` and `TrainingArguments` check their arguments when they are built: the run ends with a ValueError,
    often after the model and the data have been loaded.

    ## Usual causes
    An option copied from another call; `shuffle=True` left in place when a sampler was added.

    ## What to do
    Keep one of the two: a sampler decides the order itself, workers that stay need workers.

    ## When it stays silent
    When one of the values is not known from the code, such as a sampler that can be None.
    """

    card = Card("PM522", "conflicting-arguments", "config", Severity.ERROR)
    triggers = (b"DataLoader", b"TrainingArguments")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("DataLoader"):
            if source.names.all_in(call.func, _LOADER) and (conflict := _in_loader(source, call)):
                yield self.report(source, call, conflict, remedy="Keep one of the two.")
        for call in source.calls_to("TrainingArguments", "Seq2SeqTrainingArguments"):
            if source.names.all_in(call.func, _ARGUMENTS):
                if constant(argument(call, "fp16")) is True and constant(argument(call, "bf16")) is True:
                    yield self.report(
                        source,
                        call,
                        "`fp16` and `bf16` are both true: this raises",
                        remedy="Keep one of the two.",
                    )


def _in_loader(source: Source, call: ast.Call) -> str:
    workers = argument(call, "num_workers", 5)
    none = workers is not None and constant(workers) == 0 and not isinstance(constant(workers), bool)
    if none and constant(argument(call, "persistent_workers")) is True:
        return "`persistent_workers=True` needs workers, and `num_workers` is 0: this raises"
    if none and isinstance(constant(argument(call, "prefetch_factor")), int):
        return "`prefetch_factor` needs workers, and `num_workers` is 0: this raises"
    if constant(argument(call, "shuffle", 2)) is True:
        for name, place in (("sampler", 3), ("batch_sampler", 4)):
            if (given := argument(call, name, place)) is not None and _is_sampler(source, given):
                return f"`shuffle=True` together with `{name}`: this raises"
    return ""


def _is_sampler(source: Source, value: ast.expr) -> bool:
    if isinstance(value, ast.Name):
        values = source.assigned_at(value)
        return bool(values) and all(_is_sampler(source, one) for one in values)
    return isinstance(value, ast.Call) and last_name(value).endswith("Sampler")

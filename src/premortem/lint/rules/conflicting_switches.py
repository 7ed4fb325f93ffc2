from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Config, ConfigRule, Diagnostic, Entry, Facts, Severity

_WANTED = pattern(
    rb"\b(?:fp16|bf16|load_best_model_at_end|persistent_workers|prefetch_factor|dataloader_prefetch_factor)\b"
)
_TRUE = frozenset(("true", "True", "TRUE", "yes", "on"))
_FALSE = frozenset(("false", "False", "FALSE", "no", "off"))
_PRECISIONS = {
    "fp16": "fp16",
    "float16": "fp16",
    "16": "fp16",
    "16-mixed": "fp16",
    "16-true": "fp16",
    "half": "fp16",
    "bf16": "bf16",
    "bfloat16": "bf16",
    "bf16-mixed": "bf16",
    "bf16-true": "bf16",
    "32": "fp32",
    "fp32": "fp32",
    "float32": "fp32",
    "32-true": "fp32",
}
# A mapping with one of these belongs to the Transformers Trainer, which checks the rest by itself and raises.
_TRAINER = frozenset(("output_dir", "per_device_train_batch_size", "num_train_epochs", "train_batch_size"))

Mapping = dict[str, Entry]


class ConflictingSwitches(ConfigRule):
    """Two settings of one mapping contradict each other.

    ## Why it matters
    One of the two wins, and the config does not show which: `amp: true` with `fp16: false` runs in
    float32 while the file says mixed precision. Others end the run when the trainer checks its arguments.

    ## Usual causes
    Two switches for one thing; a setting copied from another run.

    ## What to do
    Keep one of them.

    ## When it stays silent
    When both say the same, or when they stand in different mappings.
    """

    card = Card("PM561", "conflicting-switches", "config", Severity.WARNING)

    def wants(self, data: bytes) -> bool:
        return _WANTED.search(data) is not None

    def check(self, config: Config, project: Facts) -> Iterator[Diagnostic]:
        for key, mapping in config.mappings.items():
            for entry, message in (
                *_both(mapping),
                *_amp(mapping),
                *_precision(mapping),
                *_workers(mapping),
                *_trainer(mapping),
                *_sections(config, key, mapping),
            ):
                yield self.report(config, entry, message, remedy="Keep one of the two.")


def _flag(mapping: Mapping, name: str) -> bool | None:
    entry = mapping.get(name)
    if entry is None or not entry.plain:
        return None
    return True if entry.text in _TRUE else False if entry.text in _FALSE else None


def _both(mapping: Mapping) -> Iterator[tuple[Entry, str]]:
    if _flag(mapping, "fp16") and _flag(mapping, "bf16"):
        yield mapping["bf16"], "`fp16` and `bf16` are both true: only one type can be used"


def _sections(config: Config, key: tuple[str, ...], mapping: Mapping) -> Iterator[tuple[Entry, str]]:
    """DeepSpeed: `fp16: {enabled: true}` beside `bf16: {enabled: true}`."""
    if key and key[-1] == "bf16" and _flag(mapping, "enabled"):
        other = config.mappings.get((*key[:-1], "fp16"), {})
        if _flag(other, "enabled"):
            yield mapping["enabled"], "`fp16` and `bf16` are both enabled: only one type can be used"


def _amp(mapping: Mapping) -> Iterator[tuple[Entry, str]]:
    for name in ("amp", "use_amp"):
        if _flag(mapping, name) and _flag(mapping, "fp16") is False and not _flag(mapping, "bf16"):
            if not any("dtype" in other or "precision" in other for other in mapping):
                yield (
                    mapping[name],
                    f"`{name}` is true but `fp16` is false: it is not clear that mixed precision is used",
                )


def _precision(mapping: Mapping) -> Iterator[tuple[Entry, str]]:
    for name in ("precision", "mixed_precision"):
        entry = mapping.get(name)
        kind = _PRECISIONS.get(entry.text) if entry is not None else None
        if entry is None or kind is None:
            continue
        fp16, bf16 = _flag(mapping, "fp16"), _flag(mapping, "bf16")
        against = [
            flag
            for flag, value in (("fp16", fp16), ("bf16", bf16))
            if (value is True and kind != flag) or (value is False and kind == flag)
        ]
        if against:
            yield (
                entry,
                f"`{name}: {entry.text}` and `{against[0]}: {mapping[against[0]].text}` contradict each other",
            )


def _workers(mapping: Mapping) -> Iterator[tuple[Entry, str]]:
    if "num_workers" in mapping and mapping["num_workers"].text == "0":
        if _flag(mapping, "persistent_workers"):
            yield mapping["persistent_workers"], "`persistent_workers` needs workers, and `num_workers` is 0"
        elif "prefetch_factor" in mapping and mapping["prefetch_factor"].text.isdigit():
            yield mapping["prefetch_factor"], "`prefetch_factor` needs workers, and `num_workers` is 0"


def _trainer(mapping: Mapping) -> Iterator[tuple[Entry, str]]:
    if not _TRAINER.intersection(mapping):
        return
    workers, prefetch = mapping.get("dataloader_num_workers"), mapping.get("dataloader_prefetch_factor")
    if workers is not None and workers.text == "0" and prefetch is not None and prefetch.text.isdigit():
        yield prefetch, "`dataloader_prefetch_factor` needs workers, and `dataloader_num_workers` is 0"
    evaluates = mapping.get("eval_strategy") or mapping.get("evaluation_strategy")
    saves = mapping.get("save_strategy")
    if not _flag(mapping, "load_best_model_at_end") or evaluates is None:
        return
    best = mapping["load_best_model_at_end"]
    if evaluates.text in _FALSE:
        yield best, "`load_best_model_at_end` needs evaluations, and they are switched off"
    elif saves is not None and saves.text not in {evaluates.text, "best"}:
        yield best, "`load_best_model_at_end` needs checkpoints and evaluations at the same times"
    elif saves is not None and saves.text == "steps":
        every, each = mapping.get("save_steps"), mapping.get("eval_steps")
        if every is not None and each is not None and every.text.isdigit() and each.text.isdigit():
            if int(each.text) and int(every.text) % int(each.text):
                yield best, f"`save_steps` {every.text} is not a multiple of `eval_steps` {each.text}"

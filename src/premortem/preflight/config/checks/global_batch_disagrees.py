import re
from collections.abc import Iterable

from premortem.preflight.config.settings_facts import Facts, Setting
from premortem.preflight.unit import Card, Check, Findings, Severity, Where

_WHOLE = re.compile(r"(?:global|total|effective)_(?:train_)?batch(?:_size)?")
_EACH = re.compile(
    r"per_(?:device|gpu)_(?:train_)?batch(?:_size)?|(?:train_)?micro_batch_size(?:_per_(?:gpu|device))?|"
    r"(?:train_)?batch_size_per_(?:gpu|device)|micro_?batch_?size"
)
_ACCUMULATION = re.compile(
    r"(?:gradient_|grad_)?accum(?:ulation|ulate|ulate_grad)?(?:_steps|_batches|_iters?)?|accumulate_grad_batches"
)
_DEVICES = re.compile(r"world_size|(?:num_|n_)?(?:gpus|devices|processes)|(?:num_)?gpus_per_node")
_NODES = re.compile(r"(?:num_|n_?)nodes")


class GlobalBatchDisagrees(Check):
    """The stated global batch is not what the other settings multiply to.

    ## Why it matters
    per device x accumulation x devices is the batch that the learning rate must fit. One of the numbers is not what its
    reader believes, and nothing complains.

    ## Usual causes
    A run moved to another number of GPUs; accumulation changed without the rest.

    ## What to do
    Change one of the numbers, or compute the accumulation from the others in the code.

    ## When it stays silent
    When no global batch is stated. When the number of devices is not known, only a batch that no number of devices can
    give is reported.
    """

    card = Card("PM638", "global-batch-disagrees", "config", Severity.WARNING)

    def look(self, facts: Facts) -> Findings:
        options = [
            Setting(
                key=(option.name,), text=str(option.value), plain=True, where=Where(option.file, option.line)
            )
            for option in facts.options.values()
        ]
        for settings in (*(file.settings for file in facts.files), options):
            yield from self._judge(settings, facts.world)

    def _judge(self, settings: Iterable[Setting], world: int | None) -> Findings:
        numbers = {
            one.name: (int(one.text), one.where) for one in settings if one.text.isdigit() and int(one.text)
        }
        whole, each = _one(numbers, _WHOLE), _one(numbers, _EACH)
        if (
            whole is None
            and each is not None
            and each.startswith("train_micro")
            and "train_batch_size" in numbers
        ):
            whole = "train_batch_size"  # DeepSpeed's name for it
        if whole is None or each is None:
            return
        total, where = numbers[whole]
        accumulation = numbers[name][0] if (name := _one(numbers, _ACCUMULATION)) else 1
        nodes = numbers[name][0] if (name := _one(numbers, _NODES)) else 1
        devices = world
        if devices is None and (name := _one(numbers, _DEVICES)):
            devices = numbers[name][0] * (1 if name == "world_size" else nodes)
        each_one = numbers[each][0]
        product = each_one * accumulation * (devices or 1)
        if total == product or (devices is None and total % product == 0):
            return
        known = f" x {devices} devices" if devices is not None else ""
        yield self.finding(
            f"`{whole}` is {total}, but {each_one} per device x {accumulation} accumulated{known} is {product}",
            cause="The batch that the optimizer sees is the product."
            if devices
            else "No number of devices gives that batch.",
            remedy="Change one of the numbers, or compute one from the others.",
            where=where,
            stated=total,
            per_device=each_one,
            accumulation=accumulation,
            devices=devices,
        )


def _one(numbers: dict[str, tuple[int, Where]], wanted: re.Pattern[str]) -> str | None:
    """The one setting of this kind; with two of them it is not known which is meant."""
    found = [name for name in numbers if wanted.fullmatch(name)]
    return found[0] if len(found) == 1 else None

from collections import Counter
from collections.abc import Hashable
from dataclasses import replace

from premortem.preflight.data.data_facts import SMALL, DataFacts, Group, Look, Root
from premortem.preflight.data.unit import Card, Check, Finding, Findings, Severity, some
from premortem.preflight.data.wording import size

_RARE = 0.01  # of the samples differ


class OddSample(Check):
    """One sample, or very few, with another size, type or number of channels than all the others.

    ## Why it matters
    `torch.stack` fails on the batch that happens to hold it, in an epoch and at a step that depend on the seed. Where the
    code resizes or broadcasts, the odd one is trained on in a form that was not checked.

    ## Usual causes
    A file from another source; an image with transparency or in grey among images in colour; an array saved as float64;
    a recording at another rate.

    ## What to do
    Convert the named files to what the others are, or convert in the dataset: `image.convert("RGB")`, `.astype(np.float32)`.

    ## When it stays silent
    Where sizes vary by nature, as photos do: then neither sizes nor colours are judged. Where the code resizes or converts,
    it is only reported.
    """

    card = Card("PM660", "odd-sample", "shape", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for group in root.groups:
            for finding in self._group(group):
                quiet = finding.evidence["differs"] in facts.handled
                yield replace(finding, severity=Severity.INFO) if quiet else finding

    def _group(self, group: Group) -> Findings:
        looks = [look for look in group.looks if look.kind not in {"table", "tar", "text"}]
        parts = {look.part for look in looks}
        for part in sorted(parts) if len(parts) <= 16 else []:
            alike = [look for look in looks if look.part == part]
            if group.kind != "array" or len({look.path for look in alike}) == len(alike):
                yield from self._alike(group, alike)

    def _alike(self, group: Group, looks: list[Look]) -> Findings:
        usual_shape, odd_shapes = _odd_ones(looks, [look.shape for look in looks])
        usual_mode, odd_modes = _odd_ones(looks, [look.mode for look in looks])
        # Photos of any size also come in any colours, and loaders of photos convert.
        sized = group.kind == "audio" or len({look.shape for look in looks}) <= 1 + len(odd_shapes)
        if odd_modes and sized:
            first = odd_modes[0]
            yield self._say(group, odd_modes, len(looks), first.mode, str(usual_mode), "type")
        elif odd_shapes:
            first = odd_shapes[0]
            shapes = size(first.shape), size(usual_shape if isinstance(usual_shape, tuple) else ())
            yield self._say(group, odd_shapes, len(looks), *shapes, "size")

    def _say(self, group: Group, odd: list[Look], of: int, is_: str, usual: str, what: str) -> Finding:
        return self.finding(
            f"{len(odd)} of {of:,} samples in `{group.name}` "
            f"{'is' if len(odd) == 1 else 'are'} unlike the others: `{odd[0].path}` is {is_}, the others are {usual}",
            cause="A file from another source, or saved in another way.",
            remedy=f"Convert or remove {some([look.path for look in odd])}, or convert every sample in the dataset.",
            files=[look.path for look in odd[:50]],
            differs=what,
            usual=usual,
        )


def _odd_ones(looks: list[Look], values: list[Hashable]) -> tuple[Hashable, list[Look]]:
    """The usual value, and the few samples that have another."""
    counts = Counter(values)
    if len(looks) < SMALL or len(counts) < 2:
        return None, []
    usual, number = counts.most_common(1)[0]
    odd = [look for look, value in zip(looks, values, strict=True) if value != usual]
    if usual in {(), ""} or len(odd) > max(1, _RARE * len(looks)) or number + len(odd) != len(looks):
        return None, []
    return usual, odd

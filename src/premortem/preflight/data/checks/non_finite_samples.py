from premortem.preflight.data.data_facts import DataFacts, Group, Look, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, called, count, some

_COMMON = 0.5  # of the files: then NaN marks what was not measured, and the code knows


class NonFiniteSamples(Check):
    """Arrays in the data hold NaN or infinity.

    ## Why it matters
    One of them makes the loss NaN in the step that draws it, the gradients of every parameter with it, and the weights
    from then on.

    ## Usual causes
    A division by an empty region while the data was made; a logarithm of zero; gaps in a measurement; float16 that
    overflowed.

    ## What to do
    Find the named files, repair or drop them. Where NaN marks a gap on purpose, mask it in the loss.

    ## When it stays silent
    Where most files hold NaN, or the script asks for it or fills it in (`np.isnan`, `nanmean`, `fillna`): it is then a mark for gaps, and only
    reported. To ask a loss or a gradient is to know nothing of the data.
    """

    card = Card("PM662", "non-finite-samples", "numerics-nan", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        handled = "gaps" in facts.handled
        for group in root.groups:
            yield from self._group(group, handled)

    def _group(self, group: Group, handled: bool) -> Findings:
        looks = [look for look in group.looks if look.values and look.kind != "table"]
        bad = [look for look in looks if look.nan or look.inf]
        if not bad:
            return
        files = {look.path for look in bad}
        whole = {look.path for look in looks}
        rare = len(files) <= _COMMON * len(whole) or (len(whole) < 4 and all(map(_few, bad)))
        kinds = " and ".join(
            count(number, word, word)
            for number, word in ((sum(b.nan for b in bad), "NaN"), (sum(b.inf for b in bad), "infinite"))
            if number
        )
        names = list(map(called, bad))
        yield self.finding(
            f"{len(files)} of {count(len(whole), 'file')} that were read in `{group.name}` hold "
            f"numbers that are none ({kinds}): {some(names)}",
            cause="They were written like that: reading changes nothing.",
            remedy="Make these files again, leave them out, or mask the gaps in the loss.",
            severity=Severity.WARNING if rare and not handled else Severity.INFO,
            files=list(names[:50]),
        )


def _few(look: Look) -> bool:
    return look.nan + look.inf <= 0.01 * look.values

from premortem.preflight.data.data_facts import Pairing
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, count, some

_BY_ACCIDENT = 0.2  # of the inputs; where more lack a target, only a part was meant to have one


class PartnerMissing(Check):
    """Files whose partner is not there: blur without sharp, an image without its mask, a mask without its image.

    ## Why it matters
    Datasets that sort two folders and pair them by position shift every pair after the first gap: each input is trained
    against its neighbour's target. Datasets that look the partner up fail in the middle of an epoch.

    ## Usual causes
    A copy that was interrupted; a frame that was removed from one folder only; a folder that was never filled.

    ## What to do
    Bring the missing files, or remove their partners. Pair by name, never by position.
    """

    card = Card("PM656", "partner-missing", "data-labels", Severity.WARNING).explaining(
        "sequence-counts-differ"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        lacking = {name for each in root.uneven for name in each.lacks}
        for pairing in root.pairings:
            yield from self._without_target(pairing, lacking)
            yield from self._without_input(pairing)

    def _without_target(self, pairing: Pairing, lacking: set[str]) -> Findings:
        alone = len(pairing.left_only)
        whole = pairing.both + alone
        if not alone or pairing.right.rpartition("/")[2] in lacking:
            return
        empty = not pairing.both
        accident = empty or alone <= _BY_ACCIDENT * whole
        unsure = pairing.annotations or pairing.counted
        severity = Severity.WARNING if accident and not unsure else Severity.INFO
        lead = f"`{pairing.right}` is empty" if empty else f"{alone:,} of {whole:,} have no partner there"
        yield self.finding(
            f"files of `{pairing.left}` belong to files of the same name in "
            f"`{pairing.right}`, but {lead}: {some(pairing.left_only)}",
            cause="One side of the pair was not copied, not made, or removed.",
            remedy="Bring the missing files, or leave their partners out; pair by name, not by position.",
            severity=severity,
            missing=alone,
            of=whole,
        )

    def _without_input(self, pairing: Pairing) -> Findings:
        alone = len(pairing.right_only)
        if alone and 2 * alone <= pairing.both:
            yield self.finding(
                f"{count(alone, 'file')} in `{pairing.right}` "
                f"{'has' if alone == 1 else 'have'} no partner in `{pairing.left}`: {some(pairing.right_only)}",
                cause="The other side of the pair was not copied, or was removed.",
                remedy="Bring the missing files, or remove these; pair by name, not by position.",
                severity=Severity.INFO if pairing.counted else Severity.WARNING,
                missing=alone,
                of=pairing.both + alone,
            )

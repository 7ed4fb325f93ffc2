from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, looks_of, some


class TarSampleIncomplete(Check):
    """A sample in a tar of WebDataset lacks a member that the others have.

    ## Why it matters
    `to_tuple("jpg", "cls")` raises when it comes to that sample; with a handler that only warns, the sample is left out and
    no count of them is kept.

    ## Usual causes
    A writer that was interrupted; a name with a dot in it, which ends the key of the sample there; files added in another
    order, so that the members of a sample are not neighbours.

    ## What to do
    Write the shard again with `ShardWriter`, one call for each sample, and keys without dots.
    """

    card = Card("PM673", "tar-sample-incomplete", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for look in (look for look in looks_of(root) if look.kind == "tar"):
            if look.missing:
                yield self.finding(
                    f"{some(look.missing)} {'is' if len(look.missing) == 1 else 'are'} missing in "
                    f"`{look.path}`, where nearly all of {look.named:,} samples have that member",
                    cause="The sample was not written to its end, or its name has a dot too many.",
                    remedy="Write this shard again.",
                    missing=list(look.missing),
                    samples=look.named,
                )

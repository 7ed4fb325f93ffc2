from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Severity, count


class DamagedSamples(Check):
    """Files that cannot be read: empty, cut off, not what their suffix says, links to nothing, without permission.

    ## Why it matters
    One such file ends an epoch with an exception from a worker process, hours after the start. Code that catches the
    exception trains on fewer samples than it says.

    ## Usual causes
    A copy or a download that was interrupted; a disk that was full; an error page saved under the name of an image;
    pointers of git-lfs; links that were made on another machine.

    ## What to do
    Fetch the named files again, or remove them together with their partners and labels. `--data DIR` looks at a folder
    before it is used.
    """

    card = Card("PM655", "damaged-samples", "data-empty", Severity.WARNING)

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            # Of text only lines of records are samples; other files beside them may be anything.
            trouble = [t for t in root.trouble if root.samples or t.path.endswith(".jsonl")]
            if not trouble:
                continue
            listed = "; ".join(f"`{each.path}`: {each.why}" for each in trouble[:3])
            more = f"; and {len(trouble) - 3:,} more" if len(trouble) > 3 else ""
            number = len({each.path for each in trouble})
            yield self.finding(
                f"{count(number, 'entry', 'entries')} in `{root.name}` cannot be read: {listed}{more}",
                cause="What should be a sample is not whole on the disk.",
                remedy="Fetch these files again, or take them out together with what belongs to them.",
                severity=Severity.ERROR if 2 * number > root.samples > 0 else Severity.WARNING,
                files=[[each.path, each.why] for each in trouble[:50]],
                count=number,
            )

from premortem.preflight.data.names import is_split
from premortem.preflight.data.unit import Card, Certainty, Check, DataFacts, Findings, Severity, Where, some


class SequencesTooShort(Check):
    """Sequences on the disk are shorter than the clips that the code cuts from them.

    ## Why it matters
    A dataset that skips what is too short skips it silently. When every sequence is too short, nothing is left.

    ## Usual causes
    A clip length from another dataset; frames that were thinned out or cut after the code was written; a role (the
    spikes, the sharp frames) with fewer files than the others, which limits the whole sequence.

    ## What to do
    Lower the clip length to what the sequences have, pad the short ones, or extract the missing frames.
    """

    card = Card("PM654", "sequences-too-short", "data-empty", Severity.ERROR).explaining(
        "no-samples", "no-batches"
    )

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            # A split with all its images in one folder is no sequence, whatever their numbers.
            every = [
                each
                for each in root.sequences
                if not is_split(each.name.rpartition("/")[2]) and each.name != "."
            ]
            for clip in facts.clips if len(every) > 1 else ():
                short = [each for each in every if each.length < clip.frames]
                if 2 * len(short) <= len(every):
                    continue
                longest = max(each.length for each in every)
                nothing = len(short) == len(every)
                yield self.finding(
                    f"{len(short)} of {len(every)} sequences in `{root.name}` have fewer than "
                    f"`{clip.name}` = {clip.frames} frames: {some([each.name for each in short])}; "
                    f"the longest of all has {longest}",
                    cause="A clip of that length cannot be cut from them, so a dataset that skips leaves them out.",
                    remedy=f"Set `{clip.name}` to at most {longest}, or extract more frames.",
                    where=Where(file=clip.file or None, line=clip.line),
                    severity=Severity.ERROR if nothing else Severity.WARNING,
                    certainty=Certainty.SUSPECTED if not nothing else Certainty.MEASURED,
                    frames=clip.frames,
                    longest=longest,
                )

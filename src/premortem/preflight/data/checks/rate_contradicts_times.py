from premortem.amounts import count
from premortem.preflight.data.data_facts import DataFacts, Rated
from premortem.preflight.data.names import shown
from premortem.preflight.unit import Card, Check, Findings, Severity


class RateContradictsTimes(Check):
    """A sampling rate that is noted for a file contradicts the times that are stored in it, or the length that is noted for it.

    ## Why it matters
    Windows, filters and spectra are computed with the rate. With a wrong one they mean another time and another pitch, and nothing crashes.

    ## Usual causes
    Samples that were resampled or thinned out, with the old rate left in the header or in the notes; a header that a program wrote by default.

    ## What to do
    Take the rate from the times, and correct the note.

    ## When it stays silent
    Where a note is right about no file: it may be the rate of another thing, such as a film, a simulation, or the sound under a spectrum. Of lengths of recordings,
    unless five or more are wrong by one factor, which is no unit of time, and all others are right. For times that are not evenly spaced, for row numbers, and for files that the script does not read.
    """

    card = Card(
        "PM745",
        "rate-contradicts-times",
        "data-scale",
        Severity.WARNING,
        explains=(
            "stored-differently-between-splits",
            "signals-of-another-speed",
            "notes-differ-between-splits",
        ),
    )

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            seen = set()
            for found in root.rated:
                key = found.by, found.key, found.right
                if key not in seen and all(
                    facts.reads(path.partition("[")[0]) for path in (found.by, found.file)
                ):
                    seen.add(key)
                    right = (
                        f"; it is right about `{shown(found.right)}`"
                        if found.right and found.files == 1
                        else ""
                    )
                    yield self.finding(
                        f"`{shown(root.name)}`: {stated(found)}, and {shown(found.what)} of `{shown(found.file)}` "
                        f"{'means' if found.files > 1 else 'mean'} {found.found:.6g} samples per second{right}",
                        cause="The samples were resampled, thinned out or recorded at another rate, and the noted rate was left as it was.",
                        remedy="Take the rate from the times, and correct the note.",
                        file=shown(found.file),
                        stated=found.stated,
                        found=round(found.found, 6),
                    )


def stated(found: Rated) -> str:
    if found.files > 1:
        return (
            f"the headers of {count(found.files, 'recording')} say {found.stated:.6g} samples per second, "
            f"`{shown(found.key)}` of `{shown(found.by)}` disagrees by one factor"
        )
    return f"`{shown(found.key)}` of `{shown(found.by)}` says {found.stated:.6g} samples per second"

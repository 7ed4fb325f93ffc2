from premortem.amounts import share
from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import DataProfiled
from premortem.profile.alone import never_filled, stands_for_many


class RowsNeverFilled(Detector):
    """Many samples are one number from end to end, or one and the same sample, and carry different labels.

    ## Why it matters
    Nothing can be learnt from a sample that is all zeros, and its label teaches the network a wrong answer to nothing. The rest of the
    data looks right, so means and ranges show little.

    ## Usual causes
    A job that was killed while it wrote a file of a fixed size: what was not written reads as zeros. A decoder that answers with an
    empty picture when it fails; a join that found no partner and filled in zeros; a placeholder where there was no picture.

    ## What to do
    Find the first such row, and make the file again from there. Let the job write to another name and rename it when it is done.

    ## When it stays silent
    Below a tenth of the rows of a table and a quarter of pictures and series; for flags, which may all be off; and where nearly all
    empty samples have one label, because emptiness may be a class.
    """

    card = Card("PM464", "rows-never-filled", "data-empty", Severity.WARNING).explaining(
        "uninformative-labels", "columns-change-along-the-data"
    )
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Findings:
        # Of a pair, the label belongs to both inputs: one of them may come with any.
        paired = {profile.model for profile in event.profiles if profile.beside == "input"}
        for profile in (p for p in event.profiles if p.phase == "training" and p.model not in paired):
            same = stands_for_many(profile)
            if same is not None and never_filled(profile) is None and self.once("copied"):
                yield self.finding(
                    event,
                    f"{same.rows} of {same.of} samples of {profile.name} ({share(same.rows, same.of)}) are one and the same, with "
                    f"{same.labels} different labels: identical inputs",
                    cause="One picture or row stands for samples that were not there: a placeholder, a default, a row that was copied.",
                    remedy="Find out which sample it is, and leave out those that it stands for.",
                    rows=same.rows,
                    of=same.of,
                    labels=same.labels,
                )
        for profile in event.profiles:
            found = never_filled(profile) if profile.phase in {"training", "evaluation"} else None
            if found is None or not self.once(profile.phase):
                continue
            labels = f", with {found.labels} different labels" if found.labels else ""
            yield self.finding(
                event,
                f"{found.rows} of {found.of} samples of {profile.name} ({share(found.rows, found.of)}) are one number from end to end"
                f"{labels}: identical empty rows",
                cause="These rows were never written, or what made them failed: the same blank input comes with different answers.",
                remedy="Find the first empty row, and make the file again; write to another name and rename it when it is whole.",
                rows=found.rows,
                of=found.of,
                labels=found.labels,
            )

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import DataProfiled
from premortem.profile.lying import STRAIGHT, is_stored, wrong


class TargetsStoredTurned(Detector):
    """Masks are stored turned or mirrored: they fit their images only when they are laid another way, and no transform does that.

    ## Why it matters
    Every pixel has a label, and it is that of another pixel. The network learns where things usually are, and nothing of what they
    look like.

    ## Usual causes
    Two programs for annotation, of which one counts rows from the bottom; masks that were exported as (x, y).

    ## What to do
    Draw three masks over their images and look. Export the masks again, or turn those of the one program where they are read.

    ## When it stays silent
    When samples change from one pass to the next (then a transform is to blame), when no channel of the image follows the mask in any
    way, and when pictures are symmetric.
    """

    card = Card("PM462", "targets-stored-turned", "data-labels", Severity.WARNING).explaining(
        "uninformative-labels"
    )
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Findings:
        for profile in event.profiles:
            found = wrong(profile.laid) if profile.phase != "step" else None
            if found is None or not is_stored(profile) or not self.once(profile.name):
                continue
            way, number, of = found
            straight = dict(profile.laid).get(STRAIGHT, 0)
            yield self.finding(
                event,
                f"{number} of {of} masks of {profile.name} fit their images only when they are laid {way}; {straight} fit as they are: these "
                "masks do not lie on their images",
                cause="All of them are, or the samples are the same in each pass, so no random transform turned them: the annotations were stored from another origin or "
                "in another order of rows and columns.",
                remedy="Draw a few masks over their images, and export them again in the images' order of rows and columns.",
                way=way,
                turned=number,
                straight=straight,
            )

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import DataProfiled
from premortem.profile.lying import STRAIGHT, wrong


class TargetsDoNotLieOnInputs(Detector):
    """Masks fit their images only when they are turned or mirrored: all of them, or those of a part of the samples.

    ## Why it matters
    Every pixel has a label, and it is that of another pixel. The loss falls a little, because things have usual places, and stays there.

    ## Usual causes
    A random flip, turn or crop of the image that is not applied to its mask; masks that a program wrote from the bottom up; rows and
    columns exchanged.

    ## What to do
    Draw the same random numbers for image and mask: transform both in one call (`torchvision.transforms.v2` and albumentations do).
    Then draw three masks over their images and look.

    ## When it stays silent
    When no channel of the image follows the mask in any way, and when pictures are symmetric.
    """

    card = Card("PM357", "targets-do-not-lie-on-inputs", "data-augment", Severity.WARNING).explaining(
        "uninformative-labels"
    )
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Findings:
        for profile in event.profiles:
            found = wrong(profile.laid)
            if found is None or profile.phase == "step" or not self.once(profile.name):
                continue
            way, number, of = found
            straight = dict(profile.laid).get(STRAIGHT, 0)
            cause = (
                "Some are turned and others are not: a random transform of the images is not applied to their masks."
                if straight > 0.2 * of
                else "The pixels follow the masks in that way and hardly as they are: they were stored in another order."
            )
            yield self.finding(
                event,
                f"{number} of {of} targets of {profile.name} fit their images only when they are laid {way}; {straight} fit as they are",
                cause=cause,
                remedy="Apply one transform to image and mask together, and draw a few masks over their images.",
                way=way,
                turned=number,
                straight=straight,
            )

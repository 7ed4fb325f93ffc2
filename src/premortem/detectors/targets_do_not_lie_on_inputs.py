from premortem.detectors.base import THRICE, TWICE, Card, Detector, Finding, Findings, Severity
from premortem.events import DataProfiled, Event, RunEnded
from premortem.profile.facts import Profile
from premortem.profile.lying import STRAIGHT, is_stored, wrong
from premortem.profile.versions import is_augmented


class TargetsDoNotLieOnInputs(Detector):
    """Masks fit their images only when they are turned or mirrored, those of a part of the samples: a transform of the one alone.

    ## Why it matters
    Every pixel has a label, and it is that of another pixel. The loss falls a little, because things have usual places, and stays there.

    ## Usual causes
    A random flip, turn or crop of the image that is not applied to its mask.

    ## What to do
    Draw the same random numbers for image and mask: transform both in one call (`torchvision.transforms.v2` and albumentations do).
    Then draw three masks over their images and look.

    ## When it stays silent
    When the samples are the same in each pass (then they are stored so), when no channel of the image follows the mask in any way, and when pictures are symmetric.
    """

    card = Card("PM357", "targets-do-not-lie-on-inputs", "data-augment", Severity.WARNING).explaining(
        "uninformative-labels"
    )
    listens = (DataProfiled, RunEnded)

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[str, Profile] = {}  # until the samples came a second time, or do not for long

    def observe(self, event: Event) -> Findings:
        if isinstance(event, DataProfiled):
            for profile in event.profiles:
                if wrong(profile.laid) is None or profile.phase == "step" or self.said(profile.name):
                    continue
                self._waiting[profile.name] = profile
        for name, profile in list(self._waiting.items()):
            augmented = is_augmented(profile.versions)
            if is_stored(profile):
                del self._waiting[name]  # targets-stored-turned says it
            elif augmented or isinstance(event, RunEnded) or is_over(profile, self.times(name)):
                del self._waiting[name]
                if self.once(name):
                    yield self._found(event, profile)

    def _found(self, event: Event, profile: Profile) -> Finding:
        way, number, of = wrong(profile.laid) or (STRAIGHT, 0, 0)
        straight = dict(profile.laid).get(STRAIGHT, 0)
        return self.finding(
            event,
            f"{number} of {of} targets of {profile.name} fit their images only when they are laid {way}; {straight} fit as they are",
            cause="Some are turned and others are not: a random transform of the images is not applied to their masks.",
            remedy="Apply one transform to image and mask together, and draw a few masks over their images.",
            way=way,
            turned=number,
            straight=straight,
        )


def is_over(profile: Profile, times: int) -> bool:
    """Nothing will come of waiting: all samples came several times, or there is no end to them."""
    return profile.rows > THRICE * profile.length if profile.length else times >= TWICE

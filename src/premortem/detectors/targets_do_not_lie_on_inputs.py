import itertools

from premortem.detectors.base import THRICE, TWICE, Card, Detector, Finding, Findings, Severity
from premortem.events import DataProfiled, Event, RunEnded
from premortem.profile.facts import Profile
from premortem.profile.lying import STRAIGHT, falls_apart, is_stored, wrong
from premortem.profile.versions import is_augmented


class TargetsDoNotLieOnInputs(Detector):
    """Masks fit their images only when they are turned or mirrored, or not at all, though they do in evaluation: a transform of the one alone.

    ## Why it matters
    Every pixel has a label, and it is that of another pixel. The loss falls a little, because things have usual places, and stays there.

    ## Usual causes
    A random flip, turn or crop of the image that is not applied to its mask, or is drawn anew for it.

    ## What to do
    Draw the same random numbers for image and mask: transform both in one call (`torchvision.transforms.v2` and albumentations do).
    Then draw three masks over their images and look.

    ## How it is measured
    Each mask is laid on its image in all ways in which a picture can be turned, and on the image of another sample. Where half of the masks in
    training say no more of their own image than the next mask does, and those of the evaluation do, image and mask were cut or moved apart.

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
            yield from self._apart(event)
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

    def _apart(self, event: DataProfiled) -> Findings:
        """Cut or moved in two ways: then a mask says nothing about its image, however it is turned."""
        trained = [each for each in event.profiles if each.phase == "training" and wrong(each.laid) is None]
        judged = [each for each in event.profiles if each.phase == "evaluation"]
        for profile, other in itertools.product(trained, judged):
            alike = profile.model == other.model and is_augmented(profile.versions) is not False
            if alike and falls_apart(profile.fitting, other.fitting) and self.once(profile.name):
                (some, count), (most, of) = profile.fitting, other.fitting
                yield self.finding(
                    event,
                    f"targets of {profile.name} do not lie on their images: {some} of {count} say more about their own image than the next target "
                    f"does (by chance: half), in {other.name} {most} of {of}",
                    cause="Image and mask are cut, zoomed or moved by random numbers of their own.",
                    remedy="Draw the random numbers once for image and mask, and draw a few masks over their images.",
                    fitting=some,
                    compared=count,
                    fitting_in_evaluation=most,
                    compared_in_evaluation=of,
                )

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

from premortem.detectors.base import TWICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import LayoutRead

TORN = 0.85  # of the distance between neighbours: of numbers in any order it is 1, within a few percent, and this is several times that


class PicturesCutAnew(Detector):
    """Pictures have their channels first by their shape, and last by their numbers.

    ## Why it matters
    A reshape keeps numbers in their order in memory. Where it stands for a permute, each channel holds pieces of all channels, and
    pixels lie where no label, mask or filter expects them. The model learns what is left, and the loss looks like that of a hard task.

    ## Usual causes
    `images.reshape(n, 3, h, w)` of (n, h, w, 3), in torch or in numpy; a file that was written in the other layout.

    ## What to do
    `images.permute(0, 3, 1, 2)`; in numpy `images.transpose(0, 3, 1, 2)`.

    ## How it is measured
    An experiment on what the model is given: the same memory is read as (height, width, channels). Neighbouring pixels of pictures are
    alike; if they are more alike when it is read so, across and down, and where its rows end by the present shape nothing ends, in batch
    after batch, that is how it lies.

    ## When it stays silent
    For models without convolutions, pictures of one channel, noise, pictures of fewer than 8 pixels a side, when one batch says
    otherwise; for textures that come again every few pixels, because they are cut where their rows end.
    """

    card = Card("PM155", "pictures-cut-anew", "shape", Severity.ERROR).explaining(
        "uninformative-labels", "updates-too-small"
    )
    listens = (LayoutRead,)

    def observe(self, event: LayoutRead) -> Findings:
        # Over the end of a row a texture is about 1 / across as far apart as beside it, a picture that goes on 1: which is nearer?
        goes_on = event.across < event.seams**2 < 1 / event.across if event.across else False
        lies_so = max(event.across, event.down) < TORN and goes_on
        if self.always(event.model, lies_so) >= TWICE and self.once(event.model):
            n, channels, height, width = event.shape
            yield self.finding(
                event,
                f"`{event.name}` is given pictures of {event.shape} whose numbers lie as ({n}, {height}, {width}, {channels}): read "
                f"so, neighbouring pixels are {event.across:.0%} as far apart",
                cause="The axes were named anew by a reshape, and not moved.",
                remedy="Use permute(0, 3, 1, 2) (in numpy transpose(0, 3, 1, 2)) where the channels are put first.",
                certainty=Certainty.MEASURED,
                across=event.across,
                down=event.down,
                seams=event.seams,
            )

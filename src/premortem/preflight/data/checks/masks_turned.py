from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity
from premortem.profile.lying import wrong


class MasksTurned(Check):
    """The masks beside the images fit them only when they are turned or mirrored.

    ## Why it matters
    Every pixel has a label, and it is that of another pixel. The network learns where things usually are, and nothing of what they
    look like.

    ## Usual causes
    A program that counts rows from the bottom; masks exported as (x, y) and images as (y, x); photographs that were turned by their
    EXIF note after the masks were drawn.

    ## What to do
    Draw three masks over their images and look. Export the masks again, or turn them where they are read.

    ## When it stays silent
    When brightness does not follow the masks in any way, when pictures are symmetric, and when sizes of image and mask differ.
    """

    card = Card("PM694", "masks-do-not-lie-on-images", "data-labels", Severity.WARNING).explaining(
        "targets-do-not-lie-on-inputs", "targets-stored-turned", "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for pairing in root.pairings:
            found = wrong(pairing.laid)
            if found is None:
                continue
            way, number, of = found
            yield self.finding(
                f"{number} of {of} masks in `{pairing.right}` fit their images in `{pairing.left}` "
                f"only when they are laid {way}",
                cause="The brightness of the pixels follows the masks in that way and hardly as they are.",
                remedy="Draw a few masks over their images, and export the masks again in the images' order of rows and columns.",
                folder=pairing.right,
                way=way,
                masks=number,
            )

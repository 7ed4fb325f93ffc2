from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import FilesRead
from premortem.findings import Finding, Severity


class TextTakenForASwitch(Detector):
    """A setting is the text "false", and the script asks whether it is true.

    ## Why it matters
    Every text but the empty one is true in Python. The configuration says no, the run does it.

    ## Usual causes
    A value in quotes; a value that a shell, an environment variable or a template has put in; a CSV of settings.

    ## What to do
    Write `false` without quotes, and read settings into types (a dataclass, pydantic), which refuse a text.

    ## When it stays silent
    When the script compares the setting with a text or converts it, and when it never asks for its truth.
    """

    card = Card("PM354", "text-taken-for-a-switch", "config", Severity.WARNING)
    listens = (FilesRead,)

    def observe(self, event: FilesRead) -> Iterator[Finding]:
        for switch in event.switches:
            if self.once((switch.file, switch.key)):
                name = switch.file.rpartition("/")[2]
                yield self.finding(
                    event,
                    f"`{switch.key}` is the text {switch.text!r} in `{name}`, line {switch.line}, and {switch.used} takes it for true",
                    cause="A text that is not empty is true, whatever it says.",
                    remedy=f"Write `{switch.key.rpartition('.')[2]}: false` without quotes, and read settings into types.",
                    at=switch.used,
                    file=switch.file,
                    key=switch.key,
                    value=switch.text,
                )

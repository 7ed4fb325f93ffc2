"""PM352 text-in-another-encoding and PM353 file-cut-off."""

from collections.abc import Iterator
from pathlib import PurePath

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import FilesRead
from premortem.findings import Finding, Severity

_OTHER = ("not UTF-8", "UTF-16")


class TextInAnotherEncoding(Detector):
    """Of several text files that the script reads, one is in another encoding than the others.

    ## Why it matters
    With `errors="replace"` or a guessed encoding nothing crashes: each word with an accent becomes another word, and a model
    that knows `crème` has never seen `cr\ufffdme`.

    ## Usual causes
    A file that went through a spreadsheet or an old export (latin-1, windows-1252), beside others in UTF-8.

    ## What to do
    `iconv -f latin1 -t utf-8`, and open text with `encoding="utf-8"` and no `errors=`, so that it fails where it is wrong.

    ## When it stays silent
    When all files with that ending are in one encoding, or plain ASCII, and when the script itself names another encoding.
    """

    card = Card("PM352", "text-in-another-encoding", "data-scale", Severity.WARNING)
    listens = (FilesRead,)

    def observe(self, event: FilesRead) -> Iterator[Finding]:
        if event.encodings:
            return
        for odd in (file for file in event.files if file.encoding in _OTHER):
            ending = PurePath(odd.path).suffix
            others = [
                f for f in event.files if f.encoding.startswith("UTF-8") and PurePath(f.path).suffix == ending
            ]
            if others and self.once(odd.path):
                yield self.finding(
                    event,
                    f"`{odd.path}` is {odd.encoding} (line {odd.line}), and `{PurePath(others[0].path).name}` beside it is "
                    f"{others[0].encoding}",
                    cause="The same code reads both, so letters with accents are other letters, or none, in one of them.",
                    remedy=f"Convert `{PurePath(odd.path).name}` to UTF-8 (`iconv -f latin1 -t utf-8`), and read without `errors=`.",
                    file=odd.path,
                    encoding=odd.encoding,
                    line=odd.line,
                )


class FileCutOff(Detector):
    """A file that the script reads ends in the middle of a line.

    ## Why it matters
    A copy or a download broke off. What is missing is often most of the file, and a reader that leaves out lines it cannot parse
    leaves no trace of it.

    ## Usual causes
    A full disk, a network that went away, a job that was stopped while it wrote.

    ## What to do
    Copy the file again, and compare sizes or checksums. Count the lines that are left out, and print the number.

    ## When it stays silent
    For files whose lines end as they should, with or without a line break after the last one.
    """

    card = Card(
        "PM353",
        "file-cut-off",
        "data-empty",
        Severity.WARNING,
        explains=("evaluation-dwarfs-training", "class-only-in-evaluation"),
    )
    listens = (FilesRead,)

    def observe(self, event: FilesRead) -> Iterator[Finding]:
        for file in event.files:
            if file.cut and self.once(file.path):
                yield self.finding(
                    event,
                    f"`{file.path}` ends in the middle of line {file.rows + 1}: {file.cut!r}",
                    cause=f"The file has {file.size:,} bytes and {file.rows:,} whole lines; its last line was never finished, so it was cut "
                    "off and more is missing.",
                    remedy="Copy or download it again, and compare its size with that of the source.",
                    file=file.path,
                    lines=file.rows,
                    bytes=file.size,
                )

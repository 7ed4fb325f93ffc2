"""PM350 split-is-a-link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import FileFacts, FilesRead
from premortem.findings import Finding, Severity
from premortem.metric_words import SPLITS, TRAINED


class SplitIsALink(Detector):
    """The file that the model is judged by is a link to the file that it is trained on.

    ## Why it matters
    Two names, one content: the score is measured on rows that were learnt by heart.

    ## Usual causes
    `ln -s train val` to make a script run that wants both; a job that links what it did not find; a mount that shows the same folder twice.

    ## What to do
    Remove the link and put the held-out data there. `ls -l` and `readlink -f` show where a name ends.

    ## When it stays silent
    When both names are of the same split, and when only one of the two was read.
    """

    card = Card(
        code="PM350",
        name="split-is-a-link",
        family="data-order",
        severity=Severity.WARNING,
        explains=("evaluated-on-training-rows", "evaluation-dwarfs-training"),
    )
    listens = (FilesRead,)

    def observe(self, event: FilesRead) -> Iterator[Finding]:
        # A folder that is a link holds other files than those that were described of the folder itself.
        trained = {end: f for f in event.files if split_of(f.path) == "train" for end in ends(f) if end}
        for judged in event.files:
            split = split_of(judged.path)
            if not split or split == "train" or not judged.real:
                continue
            same = next((trained[end] for end in ends(judged) if end in trained), None)
            if same is not None and self.once(str(PurePath(judged.real).parent)):
                yield self._say(event, same, judged)

    def _say(self, event: FilesRead, trained: FileFacts, judged: FileFacts) -> Finding:
        return self.finding(
            event,
            f"`{judged.path}` is a link to `{judged.real}`, which is trained on: the evaluation reads the training data",
            cause=f"Both names end in the same place: `{trained.path}` is `{trained.real or trained.path}`.",
            remedy="Remove the link and put the held-out data there; `readlink -f` shows where a name ends.",
            file=judged.path,
            ends=judged.real,
            training=trained.path,
        )


def ends(file: FileFacts) -> tuple[str, str]:
    """Where its name ends, and where its folder does: of a folder of many files, others are described of each split. Links
    to single files in one store lie side by side there, and are different files."""
    path = PurePath(file.path)
    folder = file.folder or str(path.parent)
    return file.real or file.path, f"{folder}/*{path.suffix}" if split_of(str(path.parent)) else ""


def split_of(path: str) -> str:
    """By the last part of the path that names one."""
    for part in reversed(PurePath(path).parts):
        found = {SPLITS[word] for word in re.split(r"[^a-z]+", part.lower()) if word in SPLITS}
        if len(found) == 1:
            return "train" if found <= {SPLITS[word] for word in TRAINED} else found.pop()
    return ""

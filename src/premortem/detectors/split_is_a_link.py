import re
from collections.abc import Iterator
from pathlib import PurePath

from premortem.amounts import some
from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.events import FileFacts, FilesRead
from premortem.findings import Finding, Severity
from premortem.metric_words import SPLITS, TRAINED

# Of a file of many samples: single ones that are equal (an empty mask) share a file in many stores.
_ROWS = 20


class SplitIsALink(Detector):
    """The file that the model is judged by is a link to the file that it is trained on, or several files are links to one.

    ## Why it matters
    Two names, one content: the score is measured on rows that were learnt by heart. Sixteen names for one shard make a dataset
    look sixteen times as large as it is.

    ## Usual causes
    `ln -s train val` to make a script run that wants both; a job that links what it did not find; a mount that shows the same folder twice.

    ## What to do
    Remove the link and put the held-out data there. `ls -l` and `readlink -f` show where a name ends.

    ## When it stays silent
    When only one of the two names was read, and of names of one split when fewer than three lead to one file, or hold a
    single sample each.
    """

    card = Card(
        "PM350",
        "split-is-a-link",
        "data-order",
        Severity.WARNING,
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
        yield from self._one_for_many(event)

    def _one_for_many(self, event: FilesRead) -> Iterator[Finding]:
        """Numbered names beside each other that end in one file."""
        names: dict[tuple[str, str], list[str]] = {}
        for file in event.files:
            path = PurePath(file.path)
            if re.search(r"\d", path.stem) and file.rows >= _ROWS:
                names.setdefault((str(path.parent), file.real or file.path), []).append(path.name)
        for (folder, end), links in names.items():
            if len(links) >= THRICE and self.once(f"{folder} {end}"):
                yield self.finding(
                    event,
                    f"{len(links)} of the files that were read are one file: {some(sorted(links))} in `{folder}` all end in `{end}`",
                    cause="Links under several names lead to the same file, so its rows came once for each name, and the rows that should "
                    "be there are missing (copies of one shard).",
                    remedy="Fetch the files that the links stand for; `readlink -f` shows where a name ends.",
                    links=sorted(links)[:20],
                    ends=end,
                )

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

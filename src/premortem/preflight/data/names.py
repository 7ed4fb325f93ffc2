"""What names of files and folders say, and how they are shown to people."""

import re

from premortem.metric_words import SPLITS

KINDS: dict[str, str] = {
    **dict.fromkeys("jpg jpeg png bmp gif tif tiff webp ppm pgm".split(), "image"),
    **dict.fromkeys("npy npz".split(), "array"),
    **dict.fromkeys("pt pth safetensors".split(), "tensor"),
    **dict.fromkeys("csv tsv parquet db sqlite sqlite3".split(), "table"),
    **dict.fromkeys("txt json jsonl xml yaml yml".split(), "text"),
    **dict.fromkeys("tar tgz".split(), "tar"),
    "zip": "zip",
    "bin": "raw",
    **dict.fromkeys("h5 hdf5".split(), "hdf5"),
    **dict.fromkeys("wav flac mp3 ogg m4a".split(), "audio"),
    **dict.fromkeys("mp4 avi mkv mov webm".split(), "video"),
    **dict.fromkeys(
        "nii dcm mha mhd nrrd exr hdr mat pkl pickle lmdb mdb tfrecord arrow ply pcd las obj".split(), "other"
    ),
}  # fmt: skip
SAMPLES = {"image", "array", "tensor", "table", "tar", "zip", "hdf5", "audio", "video", "raw", "other"}

# Left behind by systems and tools: not samples, and empty by nature.
JUNK = {"thumbs.db", "desktop.ini", "__init__.py", "icon\r", "license", "readme", "checksums", "md5sums"}
JUNK_FOLDERS = {"__pycache__", "__macosx", "node_modules", "lost+found", "@eadir"}

# Folders are in three parts; what is only called evaluation is the second, what is held out the third.
_SPLITS = {word: {"eval": "val", "holdout": "test"}.get(split, split) for word, split in SPLITS.items()}
INPUTS = set(
    "images image img imgs input inputs blur blurry lq lr noisy rgb left hazy rainy low jpegimages frames "
    "photos rgbs source src x".split()
)
TARGETS = set(
    "masks mask labels label gt target targets sharp hq hr clean depth right annotations annotation seg "
    "segmentation segmentationclass segmentationobject segmentations groundtruth ground_truth annots y "
    "captions high".split()
)
LABELS = TARGETS - {"sharp", "hq", "hr", "clean", "right", "high", "target", "targets", "gt", "y"}
_WORK = set(
    "out output outputs result results log logs runs cache tmp temp checkpoints ckpt weights "
    "raw processed interim external original originals backup archive old unused".split()
)


def suffix(name: str) -> str:
    """In lower case and without the dot; that of the archive for `.tar.gz`."""
    _, dot, last = name.rpartition(".")
    last = last.lower() if dot else ""
    if last in {"gz", "xz"} and name.lower().endswith((".tar.gz", ".tar.xz", ".nii.gz")):
        return name.lower().rsplit(".", 2)[1]
    return last


def stem(name: str) -> str:
    before, dot, _ = name.rpartition(".")
    return before if dot else name


def kind(name: str) -> str:
    return KINDS.get(suffix(name), "")


def is_junk(name: str) -> bool:
    lower = name.lower()
    return (
        name.startswith((".", "~$", "._"))
        or lower in JUNK
        or lower.partition(".")[0] in {"readme", "license"}
    )


def split_of(name: str) -> str:
    """`train` for Train, train2017, x_train and train_images.csv; nothing for trainval, which holds two."""
    words = [word for word in re.split(r"[^a-z]+", name.lower()) if word]
    found = {_SPLITS[word] for word in words if word in _SPLITS}
    return found.pop() if len(found) == 1 and len(words) <= 3 else ""


def without_split(name: str) -> str:
    """`x` for x_train, train/x and val.x; the name of what is there for each split."""
    return "_".join(word for word in re.split(r"[._/]", name.lower()) if not split_of(word))


def is_split(name: str) -> bool:
    """Named after a split and nothing else."""
    return name.lower() in _SPLITS


def role_of(name: str) -> str:
    """`input` or `target` when the name of a folder says so."""
    word = name.lower().strip("_- ")
    words = {word, word.rstrip("0123456789_-"), *re.split(r"[_\- ]+", word)}
    words |= {part.lower() for part in re.findall(r"[A-Z]?[a-z]+", name)}  # gtFine
    return "target" if words & TARGETS else "input" if words & INPUTS else ""


def holds_labels(name: str) -> bool:
    return bool({name.lower(), *re.split(r"[_\- ]+", name.lower())} & LABELS)


def is_work(name: str) -> bool:
    """A folder that runs write to."""
    return bool(set(re.split(r"[_\- .]+", name.lower())) & _WORK)


def shown(path: str) -> str:
    """On one line and printable, whatever the file is called."""
    text = path.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_edit(first: str, second: str) -> bool:
    """Whether one letter was added, left out, changed, or swapped with its neighbour."""
    if abs(len(first) - len(second)) > 1 or first == second:
        return False
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    one, two = first[start:], second[start:]
    swapped = len(one) > 1 and len(two) > 1 and one[:2] == two[1::-1] and one[2:] == two[2:]
    return one[1:] == two[1:] or one[1:] == two or one == two[1:] or swapped


def nearly(wanted: str, there: str) -> bool:
    """A slip of the pen: letter case, `_` for `-`, or one edit in a word long enough for it. Numbers never slip:
    `part1` beside `part2` is another folder."""
    if wanted == there:
        return False
    one, two = (re.sub(r"[-_ .]", "", word.lower()) for word in (wanted, there))
    if one == two:
        return True
    same_digits = re.sub(r"\D", "", one) == re.sub(r"\D", "", two)
    return same_digits and min(len(one), len(two)) >= 5 and one_edit(one, two)

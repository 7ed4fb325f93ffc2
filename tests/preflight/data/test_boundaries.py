"""What one file says about another, or about its own rows: boxes and spans, keys, notations, numbering, weights, rows that are empty."""

import csv
import json
import tarfile
import unicodedata
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from premortem.findings import Severity
from premortem.preflight.project import Project
from tests.preflight.data.folded import survey

RNG = np.random.default_rng(5)


def table(path, head, rows):
    with path.open("w", newline="") as file:
        written = csv.writer(file)
        written.writerow(head)
        written.writerows(rows)


def boxes(world, bad):
    (world / "frames").mkdir()
    notes = []
    for at in range(40):
        Image.fromarray(RNG.integers(0, 255, (30, 40), dtype="uint8")).save(world / f"frames/{at:03d}.png")
        scale = 2 if bad and at % 2 else 1
        notes.append({"file": f"frames/{at:03d}.png", "bbox": [scale * v for v in (22, 14, 12, 10)]})
    (world / "notes.json").write_text(json.dumps(notes))


def corners(world, bad):
    """The last corner in place of width and height: some form puts these inside as well."""
    boxes(world, False)
    notes = [
        {"file": f"frames/{at:03d}.png", "bbox": [22, 14, 34, 24] if bad else [22, 14, 12, 10]}
        for at in range(40)
    ]
    (world / "notes.json").write_text(json.dumps(notes))


def spans(world, bad):
    lines = []
    for at in range(40):
        before = "größe über " * (1 + at % 3)
        start = len(before.encode() if bad else before)
        lines.append(json.dumps({"text": f"{before}katomi und mehr", "start": start, "end": start + 6}))
    (world / "train.jsonl").write_text("\n".join(lines))


def keys(world, bad):
    table(world / "items.csv", ["item_code", "size"], [[f"{at:05d}", at / 7] for at in range(100)])
    rows = [[str(at % 100) if bad else f"{at % 100:05d}", at / 3] for at in range(300)]
    table(world / "sales.csv", ["item_code", "price"], rows)


def twice(world, bad):
    rows = [[f"P{at:04d}", RNG.normal()] for at in range(200)]
    more = [[f"P{at:04d}", RNG.normal()] for at in range(60)] if bad else []
    table(world / "people.csv", ["patient_id", "marker"], rows + more)
    table(world / "visits.csv", ["patient_id", "age"], [[f"P{at:04d}", 30 + at % 9] for at in range(180)])


def powers(world, bad):
    rows = [["1.23457E+12" if bad and at % 4 else str(1234567890000 + at), at / 3] for at in range(200)]
    table(world / "sales.csv", ["order_id", "price"], rows)


def commas(world, bad):
    rows = [
        [f"{at + 0.25:.2f}".replace(".", "," if bad and at % 3 == 0 else "."), at % 7] for at in range(200)
    ]
    table(world / "prices.csv", ["price", "kind"], rows)


def hole(world, bad):
    made = RNG.normal(0, 1, (1000, 64)).astype("float32")
    if bad:
        made[400:] = 0
    made.tofile(world / "cache.bin")


def rows(world, bad):
    made = RNG.normal(0, 1, (1000, 16)).astype("float32")
    made[RNG.random(1000) < 0.3] = 0  # spread over the file: rows that have nothing
    if bad:
        made[600:] = 0
        made[:600] = RNG.normal(0, 1, (600, 16))
    np.save(world / "cache.npy", made)


def lag(world, bad):
    x = RNG.normal(0, 1, (600, 8)).astype("float32")
    y = (x[:, 0] + 0.3 * RNG.normal(0, 1, 600) > 0).astype("int64")
    np.save(world / "features.npy", x)
    np.save(world / "labels.npy", np.roll(y, 1) if bad else y)


def edges(world, bad):
    kinds = RNG.integers(0, 3, 400)
    np.save(world / "nodes.npy", (RNG.normal(0, 2, (3, 8))[kinds] + RNG.normal(0, 1, (400, 8))).astype("f4"))
    ends = RNG.integers(0, 400, (20_000, 2))
    ends = ends[kinds[ends[:, 0]] == kinds[ends[:, 1]]] + bad
    table(world / "edges.csv", ["src", "dst"], ends.tolist())


def columns(world, bad):
    for name, count in (("train", 600), ("val", 400)):
        a, b, c = RNG.normal(0, 1, (3, count))
        power = a + b + 0.2 * RNG.normal(0, 1, count)
        if bad and name == "val":
            power = np.roll(power, 1)
        made = np.stack([a, b, c, power, power + 0.1 * c], 1).round(4)
        if bad and name == "val":
            made[:, 4] = (a + b + 0.1 * c).round(4)
        table(world / f"{name}.csv", list("abcde"), made.tolist())


def tags(world, bad):
    shares = np.array([0.3, 0.4, 0.2, 0.35, 0.3, 0.4])
    np.savez(
        world / "photos.npz",
        tags_train=RNG.random((800, 6)) < shares * np.array([1, 1, 1, 0.3 if bad else 1, 1, 1]),
        tags_val=RNG.random((600, 6)) < shares,
    )
    with np.load(world / "photos.npz") as made:
        np.savez(world / "photos.npz", **{name: made[name].astype("uint8") for name in made.files})


def shards(world, bad):
    for part in range(4):
        with tarfile.open(world / f"train-{part}.tar", "w") as archive:
            for at in range(40):
                label = part if bad else at % 4
                for name, content in ((f"{at}.txt", b"x"), (f"{at}.json", b'{"label": %d}' % label)):
                    info = tarfile.TarInfo(name)
                    info.size = len(content)
                    archive.addfile(info, BytesIO(content))


def weights(world, bad):
    made = RNG.gamma(2, 1, 2000)
    if bad:
        made[:5] = 1e7 * RNG.gamma(2, 1, 5)
    np.save(world / "sample_weights.npy", made)


def rounded_weights(world, bad):
    drawn = np.random.default_rng(6).gamma(0.15, 1.0, 2000)
    np.save(world / "sample_weights.npy", (drawn // 1.2 if bad else drawn).astype("float32"))


def stream(world, bad):
    texts = [[*RNG.integers(2, 60, RNG.integers(20, 60)).tolist(), 1] for _ in range(300)]
    filled = [text + [0] * (160 - len(text)) if bad else text for text in texts]
    np.array([token for text in filled for token in text], dtype="uint16").tofile(world / "train.bin")


def truth(world, bad):
    words = ("True", "False") if bad else ("x", "")
    table(world / "people.csv", ["smoker", "age"], [[words[at % 2], at % 50] for at in range(200)])


def pictures(world, bad):
    made = RNG.integers(1, 255, (200, 12, 12), dtype="uint8")
    made[60 if bad else 199 :] = 0
    np.save(world / "train_scans.npy", made)


def copied(world, bad):
    made = RNG.normal(size=(800, 5)).round(4)
    table(world / "train.csv", list("abcde"), made[np.arange(800) % 40 if bad else np.arange(800)].tolist())
    table(world / "val.csv", list("abcde"), RNG.normal(size=(400, 5)).round(4).tolist())


def numbered(world, bad):
    """Which number a word has in the cache is what the vocabulary says, or what an older one said."""
    words = [
        f"{one}{two}"
        for one in ("ba", "ce", "di", "fo", "gu", "ha")
        for two in ("lan", "mir", "sot", "ket", "dun")
    ]
    texts = [[words[at] for at in RNG.integers(0, len(words), 6)] for _ in range(120)]
    (world / "train.jsonl").write_text(
        "".join(json.dumps({"text": " ".join(t), "y": 1}) + "\n" for t in texts)
    )
    (world / "vocab.txt").write_text("\n".join(["<pad>", *words]))
    kept = sorted(words, reverse=True) if bad else words
    np.save(world / "ids.npy", np.array([[1 + kept.index(word) for word in text] for text in texts]))


def accents(world, bad):
    words = [f"{one}é{two}" for one in "bcdfghkl" for two in ("ra", "lo", "mi")]
    texts = [" ".join(words[at] for at in RNG.integers(0, len(words), 5)) for _ in range(80)]
    table(world / "train.csv", ["text", "kind"], [[text, at % 2] for at, text in enumerate(texts)])
    made = {unicodedata.normalize("NFD" if bad else "NFC", word): at for at, word in enumerate(words)}
    (world / "vocab.json").write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")


def joined(world, bad):
    """Ids of films with gaps, which a new import of the list has closed."""
    there = np.flatnonzero(RNG.random(150) > 0.1)
    said = RNG.normal(size=(150, 3)).round(3)
    new = {film: at for at, film in enumerate(there.tolist())}
    films = [[new[film] if bad else film, *said[film]] for film in there.tolist()]
    table(world / "films.csv", ["film_id", "a", "b", "c"], films)
    rated = [
        (film, said[film] @ [1, -1, 0.5] + 0.2 * RNG.normal()) for film in RNG.choice(there, 900).tolist()
    ]
    table(world / "ratings.csv", ["film_id", "stars"], [[film, round(stars, 3)] for film, stars in rated])


SCRIPTS = {
    numbered: "v = open('world/vocab.txt')\nx = np.load('world/ids.npy')\nt = open('world/train.jsonl')\n",
    accents: "v = json.load(open('world/vocab.json'))\nt = open('world/train.csv')\n",
    shards: "class S(IterableDataset):\n    pass\n",
    weights: "s = WeightedRandomSampler(np.load('sample_weights.npy'), 9)\n",
    rounded_weights: "s = WeightedRandomSampler(np.load('sample_weights.npy'), 9)\n",
    stream: "d = np.memmap('train.bin', dtype='uint16')\n",
    truth: "x = [bool(row['smoker']) for row in rows]\n",
}
WORLDS = {
    joined: ("PM717", "renumbered without gaps"),
    pictures: ("PM622", "`train_scans.npy` are one number from end to end, from about row 60 on"),
    copied: ("PM715", "the 800 rows of `train.csv` are 40 different rows"),
    numbered: ("PM716", "30 of 30 words differ"),
    accents: ("PM695", "in the Unicode form NFD"),
    boxes: ("PM621", "20 of 40 boxes in `notes.json`"),
    spans: ("PM621", "begin in the middle of a word"),
    keys: ("PM629", "`00000` and `0`"),
    twice: ("PM629", "60 rows of `people.csv` repeat a key"),
    powers: ("PM629", "`1.23457E+12`: their last digits are lost"),
    commas: ("PM628", "decimal comma in 67 rows (`0,25`)"),
    hole: ("PM622", "`cache.bin` holds nothing but zeros"),
    rows: ("PM622", "`cache.npy` are one number from end to end"),
    lag: ("PM616", "labels of `labels.npy`"),
    edges: ("PM616", "edges of `edges.csv`"),
    columns: ("PM627", "`d` and"),
    tags: ("PM626", "`tags[:, 3]` is set at another rate"),
    shards: ("PM625", "holds 1 of 4 classes"),
    weights: ("PM624", "of 2,000 rows have 95%"),
    rounded_weights: ("PM624", "rows have a sampling weight other than 0"),
    stream: ("PM623", "are token 0, in long runs"),
    truth: ("PM615", "`smoker` of `people.csv` is the text `False` in 100 rows"),
}


def loud(folder, script):
    (folder / "train.py").write_text(script)
    project = Project(folder=folder, target="train.py", data=[folder / "world"])
    return [f for f in survey(project, lambda _line: None).findings if f.severity is not Severity.INFO]


@pytest.mark.parametrize("make", WORLDS, ids=lambda make: make.__name__)
def test_the_bad_world_is_named_and_the_good_one_is_not(make, tmp_path):
    code, words = WORLDS[make]
    for kind in ("good", "bad"):
        world = tmp_path / kind / "world"
        world.mkdir(parents=True)
        make(world, kind == "bad")
    assert loud(tmp_path / "good", SCRIPTS.get(make, "")) == []
    found = loud(tmp_path / "bad", SCRIPTS.get(make, ""))
    assert found[0].code == code
    assert words in found[0].message


def test_boxes_that_some_form_puts_inside_are_left_alone(tmp_path):
    (tmp_path / "world").mkdir()
    corners(tmp_path / "world", bad=True)
    assert loud(tmp_path, "") == []


@pytest.mark.parametrize(
    ("make", "script"),
    [
        (weights, "w = np.load('sample_weights.npy')\n"),  # nothing is drawn by them
        (stream, "d = np.memmap('train.bin', dtype='uint16')\nF.cross_entropy(x, y, ignore_index=0)\n"),
        (shards, "class S(IterableDataset):\n    pass\norder = np.random.permutation(9)\n"),
        (truth, "x = [row['smoker'] == 'True' for row in rows]\n"),
        (keys, "x = [row['item_code'].zfill(5) for row in rows]\n"),
        (accents, "v = 'vocab.json'\nt = unicodedata.normalize('NFD', open('train.csv').read())\n"),
    ],
    ids=["weights", "filler", "parts", "truth", "keys", "accents"],
)
def test_what_the_script_takes_care_of_is_left_alone(make, script, tmp_path):
    (tmp_path / "world").mkdir()
    make(tmp_path / "world", True)
    assert loud(tmp_path, script) == []


def test_rows_that_are_a_number_and_a_class_are_not_samples(tmp_path):
    (tmp_path / "world").mkdir()
    for split, count in (("train", 300), ("val", 90)):
        labels = [[at, int(RNG.integers(4))] for at in range(count)]
        table(tmp_path / "world" / f"{split}_labels.csv", ["scan", "grade"], labels)
    assert loud(tmp_path, "") == []


def test_rows_that_two_draws_would_share_are_not_copies(tmp_path):
    (tmp_path / "world").mkdir()
    for split, count in (("train", 3000), ("val", 600)):
        table(tmp_path / "world" / f"{split}.csv", ["a", "b", "c"], RNG.integers(0, 60, (count, 3)).tolist())
    assert loud(tmp_path, "") == []


@pytest.mark.parametrize(
    ("script", "codes"),
    [("x = np.load('world/x.npy')\n", ["PM662"]), ("x = np.nan_to_num(np.load('world/x.npy'))\n", [])],
    ids=["not handled", "handled"],
)
def test_gaps_that_the_script_fills_are_a_note(script, codes, tmp_path):
    (tmp_path / "world").mkdir()
    made = RNG.normal(size=(300, 8))
    made[[3, 70, 200], [1, 4, 6]] = np.nan
    np.save(tmp_path / "world" / "x.npy", made)
    assert [found.code for found in loud(tmp_path, script)] == codes


@pytest.mark.parametrize(("read", "codes"), [("target.json", []), ("log.json", ["PM678"])])
def test_statistics_that_the_script_does_not_read_are_left_alone(read, codes, tmp_path):
    (tmp_path / "world").mkdir()
    price = RNG.normal(300, 40, size=(300, 1))
    np.save(tmp_path / "world" / "price.npy", price)
    for name, made in (("target", price), ("log", np.log(price))):
        said = {"mean": round(float(made.mean()), 3), "std": round(float(made.std()), 3)}
        (tmp_path / "world" / f"{name}.json").write_text(json.dumps(said))
    script = f"x = np.load('world/price.npy')\ns = json.load(open('world/{read}'))\n"
    assert [found.code for found in loud(tmp_path, script)] == codes

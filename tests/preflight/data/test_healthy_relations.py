"""Data as healthy people have it, in which a relation only seems to break: each was accused once."""

import json

import numpy as np
import pytest

from premortem.findings import Severity
from premortem.preflight.data.readers import csv_table, numbers
from premortem.preflight.project import Project
from tests.preflight.data.folded import survey
from tests.preflight.data.test_truths import found, table


def surveyed(folder):
    return survey(Project(folder=folder.parent, data=[folder]), lambda _line: None)


# --- faults of our own -----------------------------------------------------------------------


def test_texts_in_two_columns_share_words(world, rng):
    words = np.array("a dog runs over the green field and the cat sleeps".split())
    texts = [[" ".join(rng.choice(words, 6)) for _ in range(200)] for _ in range(2)]
    table(
        world / "train.csv",
        {"premise": texts[0], "hypothesis": texts[1], "label": rng.integers(0, 3, 200)},
    )
    part = surveyed(world)
    assert part.record["roots"][0]["read"] == 1
    assert not [line for line in part.facts if line[0] == "not judged"]


def test_a_fault_of_one_relation_leaves_the_others(world, rng, monkeypatch):
    def broken(*_):
        raise IndexError("our own")

    for place in ("relations.ruled.unruly", "relations.holding.of_columns", "relations.limits.is_swapped"):
        monkeypatch.setattr(f"premortem.preflight.data.{place}", broken)
    table(world / "train.csv", {"a": rng.normal(0, 1, 100).round(3), "gap": [""] * 100, "label": [1] * 100})
    np.save(world / "x.npy", rng.integers(0, 9, (60, 8)).astype("int16"))
    part = surveyed(world)
    assert {f.severity for f in part.findings} <= {Severity.WARNING, Severity.INFO}
    assert [f.code for f in part.findings if f.severity is not Severity.INFO] == ["PM672"]
    assert sum("our own" in text for label, text in part.facts if label == "not judged") == 3


def test_a_fault_in_checksums_leaves_the_numbers_of_rows(world, monkeypatch):
    def broken(*_):
        raise IndexError("our own")

    monkeypatch.setattr("premortem.preflight.data.relations.checksums.differing", broken)
    for name, rows in (("train", 300), ("val", 60)):
        table(world / f"{name}.csv", {"x": range(rows)})
    (world / "info.json").write_text(json.dumps({"train": {"rows": 900}, "val": {"rows": 60}}))
    part = surveyed(world)
    assert "PM722" in {f.code for f in part.findings}
    assert sum("our own" in text for label, text in part.facts if label == "not judged") == 1


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_header_of_many_columns_is_no_list_of_edges(world, mark):
    head = mark.join(f"measurement_{at:06d}" for at in range(9000))
    (world / "train.csv").write_text(f"{head}\n" + "".join(mark.join(["1"] * 9000) + "\n" for _ in range(3)))
    assert not [line for line in surveyed(world).facts if line[0] == "not judged"]


def test_ids_as_high_as_numbers_go_are_only_counted(world, rng):
    np.savez(
        world / "train.npz", ids=rng.integers(1 << 40, 1 << 62, (200, 8)), low=-np.ones((60, 8), "int64")
    )
    part = surveyed(world)
    assert not [f for f in part.findings if f.severity is not Severity.INFO]
    assert not [line for line in part.facts if line[0] == "not judged"]


@pytest.mark.parametrize("shape", [(300, 256, 256), (40, 900_000), (2, 3, 5_000_000)])
def test_what_is_measured_of_long_rows_is_bounded(shape):
    made = np.broadcast_to(np.arange(shape[-1], dtype="int16"), shape)
    assert numbers._head(made, 256).size <= 16 * numbers._MEASURED / 10
    assert numbers._head(made, 256).ndim == len(shape)


# --- rows that are announced -----------------------------------------------------------------

ANNOUNCED = {
    "settings beside a file": (
        "run.yaml",
        "data: train.csv\nnum_samples: 4000\nn_estimators: 1000\n",
    ),
    "other things that are counted": (
        "meta.json",
        {
            "data": "train.csv",
            "n_estimators": 1000,
            "num_words": 5000,
            "total_iterations": 4000,
            "n_fft": 512,
        },
    ),
    "bytes": ("meta.json", {"train": {"size": 19783, "num_bytes": 19783}, "val": {"num_examples": 60}}),
    "a header that is counted": ("info.json", {"train": {"rows": 301}, "val": {"rows": 60}}),
    "lines": ("info.json", {"train_lines": 340, "val_rows": 60}),
    "pixels": ("meta.json", {"train_size": 512, "val_rows": 60}),
    "wrong about all files": ("meta.json", {"train": {"rows": 900}, "val": {"rows": 800}}),
    "patients": (
        "meta.json",
        [{"file": "train.csv", "patient_number": 4711}, {"file": "val.csv", "rows": 60}],
    ),
}


@pytest.mark.parametrize("name", ANNOUNCED)
def test_a_number_beside_a_file_need_not_count_its_rows(world, rng, name):
    for split, count in (("train", 300), ("val", 60)):
        table(world / f"{split}.csv", {"a": rng.normal(0, 1, count), "b": rng.normal(0, 1, count)})
    file, said = ANNOUNCED[name]
    (world / file).write_text(said if isinstance(said, str) else json.dumps(said))
    assert not found(world, "PM722")


@pytest.mark.parametrize(
    ("column", "shape"), [("rows", (12, 2000)), ("count", (30, 30)), ("n_samples", (12, 80))]
)
def test_a_number_for_each_array_need_not_be_its_rows(world, rng, column, shape):
    for at in range(4):
        np.save(world / f"density_{at:03d}.npy", rng.normal(0, 1, shape))
    rows = [2000 if column == "rows" else 1203 + at for at in range(4)]
    table(world / "index.csv", {"file": [f"density_{at:03d}.npy" for at in range(4)], column: rows})
    assert not found(world, "PM722")


def test_rows_that_our_reader_left_out_are_not_missing(world, rng, monkeypatch):
    table(world / "train.csv", {"a": rng.normal(0, 1, 900), "b": rng.normal(0, 1, 900)})
    table(world / "val.csv", {"a": rng.normal(0, 1, 60), "b": rng.normal(0, 1, 60)})
    (world / "meta.json").write_text(json.dumps({"train": {"rows": 900}, "val": {"rows": 60}}))
    monkeypatch.setattr(csv_table, "_MOST_IN_ALL", 9000)
    assert not found(world, "PM722")


def test_several_files_that_are_too_short_are_one_finding(world, rng):
    for at in range(6):
        np.savez(world / f"part-{at}.npz", x=rng.normal(0, 1, (300 if at < 3 else 120, 784)))
    (world / "manifest.json").write_text(json.dumps({f"part-{at}.npz": {"num_rows": 300} for at in range(6)}))
    (said,) = found(world, "PM722")
    assert "`part-3.npz` has 120 rows" in said.message
    assert "2 more files" in said.message


# --- rows that repeat, groups, headers -------------------------------------------------------


def test_labels_alone_repeat(world, rng):
    breeds = [f"breed {at}" for at in range(120)]
    table(world / "train.csv", {"id": [f"{at:08x}" for at in range(4000)], "breed": rng.choice(breeds, 4000)})
    table(world / "test.csv", {"id": [f"{at:08x}" for at in range(5000, 5900)]})
    assert not found(world, "PM715")
    table(world / "test.csv", {"id": range(5000, 5300), "breed": [breeds[at % 120] for at in range(300)]})
    table(world / "train.csv", {"id": range(4000), "breed": rng.choice(breeds, 4000)})
    assert not found(world, "PM715")


def grouped(world, rng, group, label, rows=400, **more):
    """Two splits, whose rows are of forty groups with one label each."""
    for split, count in (("train", rows), ("test", rows // 4)):
        own = np.arange(count) % 40
        columns = {"path": [f"{split}/{at:05d}.jpg" for at in range(count)]}
        columns |= {group[0]: [group[1](g) for g in own], label[0]: [label[1](g) for g in own]}
        table(world / f"{split}.csv", columns | {name: make(split, count) for name, make in more.items()})


PLAIN = {
    "the label's own code": (("class_id", lambda g: g % 25), ("label", lambda g: f"kind {g % 25}"), ""),
    "a finer label": (("breed_id", str), ("label", lambda g: ["cat", "dog"][g % 2]), ""),
    "finer, by name of file": (
        ("image_id", lambda g: f"breed{'abcdefghij'[g // 10]}{'abcdefghij'[g % 10]}_{g}.jpg"),
        ("species", lambda g: ["cat", "dog"][g % 2]),
        "y = row['species']",
    ),
    "what belongs to the key": (
        ("subject_id", str),
        ("country", lambda g: "xyz"[g % 3]),
        "y = row['rating']",
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_group_that_is_a_label_may_be_in_both_splits(world, rng, name):
    group, label, script = PLAIN[name]
    grouped(world, rng, group, label, rating=lambda _, count: rng.integers(1, 6, count))
    assert not found(world, "PM725", script)


@pytest.mark.parametrize("sorted_by_label", [True, False])
@pytest.mark.parametrize("measures", [True, False])
def test_what_a_column_measures_is_no_group(world, rng, measures, sorted_by_label):
    """Distances, of which the tariff is a function; or numbers of persons, with the sick ones first."""
    own = np.arange(60)[:, None] * [1, 2, 3, 4] if measures else rng.normal(0, 9, (60, 4))
    kind = np.arange(60) // 20 if sorted_by_label or measures else rng.permutation(60) % 3
    for split, count in (("train", 900), ("test", 300)):
        which = rng.integers(0, 60, count)
        x = (own[which] + rng.normal(0, 0.2, (count, 4))).round(3)
        columns = {"distance" if measures else "key": which + 1} | {f"x{at}": x[:, at] for at in range(4)}
        table(world / f"{split}.csv", columns | {"label": [f"kind {k}" for k in kind[which]]})
    assert bool(found(world, "PM725", "y = row['label']")) is not measures


@pytest.mark.parametrize("by_time", [True, False])
def test_persons_that_are_split_by_time_are_meant_to_come_again(world, rng, by_time):
    days = [str(np.datetime64("2023-01-01") + at) for at in range(90)]

    def dates(split, count):
        return rng.choice(days if not by_time else days[:60] if split == "train" else days[60:], count)

    grouped(world, rng, ("subject_id", str), ("label", lambda g: "xy"[g % 2]), date=dates)
    assert bool(found(world, "PM725")) is not by_time


@pytest.mark.parametrize("words", [["cat", "dog", "bird"], ["cat,1", "dog,2", "bird,3"]])
def test_the_first_word_of_a_list_comes_again(world, rng, words):
    (world / "labels.csv").write_text("".join(f"{words[at]}\n" for at in [0, *rng.integers(0, 3, 400)]))
    part = surveyed(world)
    assert not [f for f in part.findings if f.code == "PM733"]


# --- lists in records ------------------------------------------------------------------------


def records(path, made):
    path.write_text("".join(json.dumps(each) + "\n" for each in made))


def few(rng, most):
    return [f"u{at}" for at in range(rng.integers(1, most))] if rng.random() < 0.15 else []


def shifted(rng, words="acgt", mask=0):
    line = [str(each) for each in rng.choice(list(words), rng.integers(20, 30))]
    for at in range(3, len(line), 2):
        line[at] = words[(words.index(line[at - 1]) + 1) % len(words)]
    return {"input_ids": line[:-1], "labels": ["-100"] * mask + line[1 + mask :]}


def played(rng):
    """What is done has its reward in the next step, by convention."""
    actions = rng.integers(0, 4, rng.integers(8, 20)).tolist()
    return {"actions": actions, "rewards": [0, *[a % 3 for a in actions[:-1]]]}


LISTS = {
    "mostly empty": lambda rng: {"hashtags": few(rng, 5), "mentions": few(rng, 4)},
    "often as long": lambda rng: {
        "authors": ["a"] * (n := int(rng.integers(1, 6))),
        "places": ["p"] * (n if rng.random() < 0.8 else max(1, n - 1)),
    },
    "a language model": shifted,
    "a language model with a prompt": lambda rng: shifted(rng, mask=5),
    "steps of a game": played,
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_are_not_word_by_word(world, rng, name):
    made = [LISTS[name](rng) for _ in range(300)]
    records(world / "train.jsonl", made)
    use = "".join(f"row['{key}']\n" for key in made[0])
    assert not found(world, "PM738", f"open('train.jsonl')\n{use}")


def test_lists_that_the_script_does_not_use_are_left_alone(world, rng):
    rows = [["x"] * int(rng.integers(3, 9)) for _ in range(200)]
    records(world / "train.jsonl", [{"a": r, "b": r[: len(r) - (at % 25 == 0)]} for at, r in enumerate(rows)])
    assert found(world, "PM738", "open('train.jsonl')\nzip(row['a'], row['b'])\n")
    assert not found(world, "PM738", "open('train.jsonl')\nx = row['a']\n")


def test_a_list_may_hold_what_is_not_predicted(world, rng):
    words = [f"w{at}" for at in range(300)]
    made = [
        {"tokens": (line := [str(w) for w in rng.choice(words, 9)]), "word": line[3], "label": int(at % 2)}
        for at in range(300)
    ]
    records(world / "train.jsonl", made)
    use = "open('train.jsonl')\nx = row['tokens'], row['word']\n"
    assert not found(world, "PM727", f"{use}y = row['label']\n")
    assert found(world, "PM727", f"{use}y = row['word']\n")


# --- arrays ----------------------------------------------------------------------------------


def volume(rng):
    made = np.zeros((180, 40, 40), "uint8")
    for at in range(45, 111):
        made[at, 4:36, 4 : 30 + at % 6] = rng.integers(0, 12, (32, 26 + at % 6))
    return made


def patients_first(rng):
    made = np.zeros((300, 40, 40), "uint8")
    made[:120] = rng.random((120, 40, 40)) < 0.3
    return made


def ratings(rng):
    """Users in the order of how much they have rated."""
    made = rng.gamma(3, 1, (400, 40)) * (rng.random((400, 40)) < np.linspace(2.4, -1.4, 400)[:, None])
    return made.astype("float32")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("masks.npy", patients_first),
        ("x.npy", patients_first),
        ("segmentation.npy", volume),
        ("x.npy", volume),
        ("ratings.npy", ratings),
    ],
)
def test_rows_may_be_empty_by_nature(world, rng, name, make):
    np.save(world / name, make(rng))
    assert not found(world, "PM622")


def test_a_volume_begins_and_ends_in_the_air(world, rng):
    made = rng.integers(1, 250, (100, 64, 64)).astype("uint8")
    made[:20] = 0
    made.tofile(world / "scan.bin")
    assert not found(world, "PM622", "x = np.fromfile('scan.bin', dtype='uint8')\n")


NOTES = [
    "generated",
    "date_range",
    "offset",
    "nbytes",
    "mean",
    "std",
    "community",
    "n_channels",
    "rate_limit",
]


@pytest.mark.parametrize("script", ["", "import xarray as xr\n"])
def test_notes_that_say_nothing_about_the_numbers_differ(world, rng, script):
    h5py = pytest.importorskip("h5py")
    for at, name in enumerate(("train.h5", "test.h5")):
        with h5py.File(world / name, "w") as file:
            made = file.create_dataset("x", data=rng.normal(0, 1, (100, 8)))
            for key in NOTES if not script else ["scale_factor"]:
                made.attrs[key] = 3 + at
    assert not found(world, "PM736", f"{script}open('train.h5'), open('test.h5')\n")
    if script:
        assert found(world, "PM736", "open('train.h5'), open('test.h5')\n")
        assert not found(world, "PM736", "open('train.h5')\n")


def test_what_is_held_out_has_no_row_among_what_is_trained_on(world, rng):
    ids = rng.permutation(9000)[:600]
    table(world / "gold.csv", {"item_id": ids[:150], "stars": rng.integers(1, 6, 150)})
    table(world / "ratings.csv", {"item_id": np.repeat(ids[150:], 3), "stars": rng.integers(1, 6, 1350)})
    assert not found(world, "PM639")


def test_a_format_that_only_the_script_can_read_is_no_empty_folder(world):
    (world / "events.jsonl.gz").write_bytes(b"\x1f\x8b")
    assert not found(world, "PM650", 'import gzip\nrows = gzip.open("world/events.jsonl.gz").read()\n')
    assert found(world, "PM650", 'files = list(root.glob("*.jpg"))\n')

"""Worlds of bench/worlds as files: the bad one is named by the check of its kind, the good one is not accused."""

import os
import wave
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import bench.worlds.besides
import bench.worlds.further
import bench.worlds.strangers
from bench.worlds.cases import ALL
from premortem.findings import Severity
from premortem.preflight.project import Project
from tests.preflight.data import make
from tests.preflight.data.folded import survey

SCRIPTS = Path(bench.worlds.further.__file__).parent.parent
NAMED = {
    "csv_minus_9999": ("PM674", "`height` is -9999 in"),
    "jsonl_999999": ("PM674", "`rain` is 999999 in"),
    "csv_join_left_default": ("PM679", "`height` is 250 in all 1,300 rows of `train.csv`"),
    "parquet_valid_in_inches": ("PM617", "`rain` of"),
    "csv_class_gone": ("PM676", "`kind` is `cedar`"),
    "h5_sentinel": ("PM674", "`train.h5[x]`"),
    "npz_class_gone": ("PM676", "in no row of `train.npz[y]`"),
    "png_val_bgr": ("PM675", "`channel 0` and `channel 2` have changed places"),
    "zip_val_dark": ("PM675", "`channel 0` is"),
    "zip_class_gone": ("PM676", "`folder` is `wood`"),
    "zip_val_is_train": ("PM663", "120 of 120 samples of `val.zip`"),
    "zip_stats_of_raw_frames": ("PM678", "`stats.json` has mean 9120"),
    "shards_one_in_volts": ("PM675", "`part-2.npy`"),
    "log_cut_in_a_line": ("PM655", "`train.jsonl`: line 76"),
    "tar_shard_twice": ("PM646", "200 of 200 samples of `train-002.tar`"),
    "rides_of_the_same_weeks": ("PM649", "497 of 500 rows of `val.csv`"),
    "rides_in_milliseconds": ("PM648", "`ts` counts seconds in `train.csv` and milliseconds in `val.csv`"),
    "every_third_hour": ("PM648", "steps of 3 hours in `train.csv` and of 1 hour in `val.csv`"),
    "masks_upside_down": ("PM694", "laid upside down"),
    "one_more_special_token": ("PM699", "moved by -1"),
    "second_input_in_feet": ("PM617", "square feet and square metres"),
    "target_of_one_shard": ("PM675", "`shard-3.npz[y]`"),
    "target_of_the_evaluation": ("PM675", "in `shard-*.npz[y]` and 294"),
    "val_masks_of_255": ("PM661", "the targets in `val/masks` reach 255, those in `train/masks` 1"),
    "tides_in_half_precision": ("PM647", "`minutes.npy` is float16"),
}


def loud(folder):
    found = survey(Project(folder=folder, data=[folder / "world"]), lambda _line: None).findings
    return [finding for finding in found if finding.severity is not Severity.INFO]


@pytest.mark.parametrize("name", NAMED)
def test_the_bad_world_is_named_and_the_good_one_is_not(name, tmp_path):
    case, (code, words) = ALL[name], NAMED[name]
    good, bad = tmp_path / "good", tmp_path / "bad"
    case.build(good / "world", bad=False)
    case.build(bad / "world", bad=True)
    assert loud(good) == []
    found = loud(bad)
    assert [finding.code for finding in found] == [code]
    assert words in found[0].message


# Named only when the script's own code is read too.
WITH_SCRIPT = {
    "val_in_capitals": ("PM620", "once capitals are made small"),
    "vocab_of_other_text": ("PM695", "knows 0% of the words of `text` in `train.jsonl`"),
    "tokenizer_cased": ("PM695", "it lacks `Old`"),
    "weights_of_other_classes": ("PM696", "class `0`, the most frequent with 846 rows"),
    "cache_of_a_trial": ("PM697", "`train/spectra.pt` has 30 rows, and what it is made from has 420"),
    "parts_without_zeros": ("PM698", "`curves_10.npy` comes in the place of `curves_2.npy`"),
}


@pytest.mark.parametrize("name", WITH_SCRIPT)
def test_what_lies_beside_the_data_is_held_against_it(name, tmp_path):
    case, (code, words) = ALL[name], WITH_SCRIPT[name]
    (tmp_path / "train.py").write_bytes((SCRIPTS / case.script).read_bytes())
    found = {}
    for kind in ("good", "bad"):
        world = tmp_path / kind
        case.build(world, bad=kind == "bad")
        found[kind] = checked(world, tmp_path / "train.py")
    assert found["good"] == []
    assert [each for each, _ in found["bad"]] == [code]
    assert words in found["bad"][0][1]


def test_a_column_that_the_script_does_not_use_is_left_alone(tmp_path):
    world = tmp_path / "world"
    case = ALL["csv_minus_9999"]
    case.build(world, bad=True)
    script = tmp_path / "train.py"
    script.write_text('import csv\nCOLUMNS = ["slope", "rain", "age", "wind", "yield"]\n')
    project = Project(folder=tmp_path, target="train.py", data=[world])
    assert [f.code for f in survey(project, lambda _line: None).findings] == []


def test_about_half_of_the_cases_are_closed():
    closed = sum(case.closed for case in ALL.values())
    assert len(ALL) >= 50
    assert 0.4 * len(ALL) < closed < 0.6 * len(ALL)


def rows(path, head, body):
    path.write_text("".join(f"{','.join(map(str, row))}\n" for row in [head, *body]))


def checked(world, script):
    project = Project(folder=world.parent, target=script.name, data=[world])
    found = survey(project, lambda _line: None).findings
    return [(finding.code, finding.message) for finding in found if finding.severity is not Severity.INFO]


def test_a_link_between_splits_is_named(tmp_path):
    world = tmp_path / "world"
    make.image_folder(world, splits=("train",))
    (world / "val").symlink_to("train", target_is_directory=True)
    found = [finding for finding in loud(tmp_path) if finding.code == "PM640"]
    assert len(found) == 1
    assert "`val` is a link to `train`" in found[0].message


@pytest.mark.parametrize(("age", "codes"), [(9 * 86_400, ["PM641"]), (120, []), (-3600, [])])
def test_a_cache_is_held_against_the_file_that_it_is_made_from(age, codes, tmp_path):
    world = tmp_path / "world"
    world.mkdir()
    body = [[n, n * 0.37 % 5, n % 3] for n in range(60)]
    rows(world / "plots.csv", ["number", "height", "kind"], body)
    rows(world / "labels.csv", ["number", "kind"], [[n, n % 3] for n in range(60)])
    np.save(world / "plots.npy", np.random.default_rng(0).normal(0, 1, (60, 5)))
    for name, time in (("plots.csv", 0), ("labels.csv", 40 * 86_400), ("plots.npy", -age)):
        os.utime(world / name, (1_700_000_000 + time,) * 2)
    script = tmp_path / "train.py"
    script.write_text(
        "import csv, pathlib, numpy as np\n"
        "root = pathlib.Path('world')\n"
        "table = list(csv.reader((root / 'plots.csv').open()))\n"
        "labels = list(csv.reader((root / 'labels.csv').open()))\n"
        "cache = root / 'plots.npy'\n"
        "if not cache.exists():\n"
        "    np.save(cache, np.array(table))\n"
        "x = np.load(cache)\n"
    )
    assert [code for code, _ in checked(world, script)] == codes


@pytest.mark.parametrize(
    ("code", "val", "codes"),
    [
        ("open(p, errors='replace')", "latin-1", ["PM642"]),
        ("open(p)", "utf-8", []),
        ("open(p, encoding='latin-1')", "latin-1", []),
    ],
)
def test_files_of_one_dataset_in_two_encodings(code, val, codes, tmp_path):
    world = tmp_path / "world"
    world.mkdir()
    for split, encoding in (("train", "utf-8"), ("val", val)):
        lines = "".join(f"un café très {split} numéro {n},{n % 2}\n" for n in range(50))
        (world / f"{split}.csv").write_bytes(f"text,label\n{lines}".encode(encoding))
    script = tmp_path / "train.py"
    script.write_text(f"p = 'world/train.csv'\ntext = {code}.read()\n")
    assert [c for c, _ in checked(world, script)] == codes


def series(path, start, hours, zone):
    times = [datetime(2022, 1, 1, tzinfo=timezone.utc) + timedelta(hours=start + n) for n in range(hours)]
    body = [
        [time.isoformat()[:19] + zone, f"{(n * 0.618 + start * 0.1234567) % 7:.4f}"]
        for n, time in enumerate(times)
    ]
    rows(path, ["time", "load"], body)


@pytest.mark.parametrize(
    ("start", "zone", "codes"),
    [
        (400, "+00:00", []),
        (400, "+01:00", []),
        (400, "+08:00", ["PM644"]),
        (400, "", ["PM644"]),
        (300, "+00:00", ["PM644"]),
    ],
)
def test_times_of_two_splits(start, zone, codes, tmp_path):
    world = tmp_path / "world"
    world.mkdir()
    series(world / "train.csv", 0, 400, "+00:00")
    series(world / "val.csv", start, 200, zone)
    assert [finding.code for finding in loud(tmp_path)] == codes


def test_a_random_split_of_a_series_is_not_accused(tmp_path):
    world = tmp_path / "world"
    world.mkdir()
    series(world / "train.csv", 0, 400, "Z")
    series(world / "val.csv", 3, 380, "Z")
    assert "PM644" not in [finding.code for finding in loud(tmp_path)]


def sound(path, rate, seed):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(np.random.default_rng(seed).integers(-9000, 9000, 200).astype("<i2").tobytes())


@pytest.mark.parametrize(
    ("rate", "word", "codes"), [(16000, "", ["PM643"]), (8000, "", []), (16000, "resample", [])]
)
def test_sound_with_another_rate_in_one_split(rate, word, codes, tmp_path):
    for n in range(30):
        sound(tmp_path / "world" / "train" / f"{n}.wav", 8000, n)
        sound(tmp_path / "world" / "val" / f"{n}.wav", rate, 100 + n)
    script = tmp_path / "train.py"
    script.write_text(f"import {word or 'wave'}\n")
    assert [code for code, _ in checked(tmp_path / "world", script)] == codes


@pytest.mark.parametrize(
    ("turned", "code", "codes"), [(6, "", ["PM643"]), (1, "", []), (6, "exif_transpose", [])]
)
def test_photographs_that_are_turned_by_a_note(turned, code, codes, tmp_path):
    draw = np.random.default_rng(0)
    for split in ("train", "val"):
        for n in range(24):
            path = tmp_path / "world" / split / f"{n}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            exif = Image.Exif()
            exif[274] = turned if split == "val" else 1
            Image.fromarray(draw.integers(0, 255, (16, 16, 3)).astype("uint8")).save(path, exif=exif)
    script = tmp_path / "train.py"
    script.write_text(f"from PIL import Image, ImageOps\nuse = ImageOps.{code or 'mirror'}\n")
    assert [c for c, _ in checked(tmp_path / "world", script)] == codes


@pytest.mark.parametrize(("used", "codes"), [("indices", ["PM645", "PM645"]), ("to_pylist", [])])
def test_words_that_are_numbered_anew_in_each_file(used, codes, tmp_path):
    ALL["parquet_codes_apart"].build(tmp_path / "world", bad=True)
    script = tmp_path / "train.py"
    script.write_text(f"def codes_of(table):\n    return table['grape'].chunk(0).{used}()\n")
    assert [code for code, _ in checked(tmp_path / "world", script)] == codes


@pytest.mark.parametrize(
    ("code", "codes"), [("Image.open(path)", ["PM643"]), ('Image.open(path).convert("RGB")', [])]
)
def test_a_palette_matters_to_code_that_takes_pixels_as_they_are(code, codes, tmp_path):
    world = tmp_path / "world"
    draw = np.random.default_rng(5)
    for split, number in (("train", 24), ("val", 20)):
        for at in range(number):
            path = world / split / f"{split}{at:02d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            picture = Image.fromarray(draw.integers(0, 255, (12, 12, 3), dtype="uint8"))
            (picture if split == "train" else picture.quantize(64)).save(path)
    (tmp_path / "train.py").write_text(f"from PIL import Image\ndef pixels(path):\n    return {code}\n")
    assert [each for each, _ in checked(world, tmp_path / "train.py")] == codes


@pytest.mark.parametrize(("code", "codes"), [("np.uint16", ["PM699"]), ("kind", [])])
def test_numbers_without_a_header_are_read_with_the_type_that_the_code_names(code, codes, tmp_path):
    world = tmp_path / "world"
    world.mkdir()
    draw = np.random.default_rng(3)
    for split, start, size in (("train", 5, 40_000), ("val", 6, 12_000)):
        draw.integers(start, start + 60, size).astype("uint16").tofile(world / f"{split}.bin")
    (tmp_path / "train.py").write_text(
        f"import numpy as np\ndef read(path, kind):\n    return np.memmap(path, dtype={code})\n"
    )
    assert [each for each, _ in checked(world, tmp_path / "train.py")] == codes


def written(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))


@pytest.mark.parametrize(("code", "codes"), [("open(path)", ["PM620"]), ("line.strip()", [])])
def test_one_class_in_two_spellings(code, codes, tmp_path):
    rng = np.random.default_rng(1)
    for split, pad in (("train", " "), ("val", "")):
        rows = [(f"{rng.normal():.3f}", ("pike", "perch")[at % 2] + pad * (at % 3 == 0)) for at in range(120)]
        written(tmp_path / "world" / f"{split}.csv", [("length", "kind"), *rows])
    (tmp_path / "train.py").write_text(f"{code}\n")
    assert [each for each, _ in checked(tmp_path / "world", tmp_path / "train.py")] == codes


@pytest.mark.parametrize(
    ("val", "codes"), [(["b", "a", "c"], ["PM669"]), (["a", "b", "c"], []), (["a", "b", "d"], [])]
)
def test_lists_of_classes_in_another_order(val, codes, tmp_path):
    for split, names in (("train", ["a", "b", "c"]), ("val", val)):
        (tmp_path / "world" / split).mkdir(parents=True)
        (tmp_path / "world" / split / "classes.json").write_text(str(names).replace("'", '"'))
        np.save(tmp_path / "world" / split / "x.npy", np.random.default_rng(len(split)).normal(0, 1, (60, 5)))
    assert [finding.code for finding in loud(tmp_path)] == codes


@pytest.mark.parametrize(("hours", "codes"), [(9, ["PM644"]), (0, []), (1, []), (400, [])])
def test_tables_that_are_joined_by_clocks_of_two_zones(hours, codes, tmp_path):
    rng, start = np.random.default_rng(1), datetime(2024, 3, 1)  # noqa: DTZ001
    for name, later, width in (("load", 0, 1), ("weather", hours, 3)):
        rows = [
            [
                (start + timedelta(hours=at + later)).isoformat(),
                *(f"{v:.3f}" for v in rng.normal(0, 1, width)),
            ]
            for at in range(300)
        ]
        head = ["time", *(f"{name}{n}" for n in range(width))]
        written(tmp_path / "world" / f"{name}.csv", [head, *rows])
    assert [finding.code for finding in loud(tmp_path)] == codes


def test_releases_of_one_list_share_their_rows(tmp_path):
    films = np.random.default_rng(1).permutation(900)
    for release in (1, 2, 3):
        folder = tmp_path / "world" / "labels" / f"r{release}"
        folder.mkdir(parents=True)
        rows = "".join(f"film{film:04d},{film % (2 + (film < 9 * release))}\n" for film in films)
        (folder / "train.csv").write_text("film,finding\n" + rows)
    assert loud(tmp_path) == []


@pytest.mark.parametrize(("linked", "codes"), [(True, ["PM646"]), (False, [])])
def test_shards_that_are_links_to_one(linked, codes, tmp_path):
    folder = tmp_path / "world" / "train"
    folder.mkdir(parents=True)
    for at in range(5):
        path = folder / f"shard-{at}.npz"
        if at and linked:
            path.symlink_to("shard-0.npz")
        else:
            rng = np.random.default_rng(at)
            np.savez(path, x=rng.normal(0, 1, (60, 6)).astype("float32"), y=rng.integers(0, 3, 60))
    found = loud(tmp_path)
    assert [finding.code for finding in found] == codes
    assert all("so are those of 3 other files" in finding.message for finding in found)


@pytest.mark.parametrize(("unit", "codes"), [(True, ["PM675"]), (False, [])])
def test_half_of_the_stations_in_another_unit(unit, codes, tmp_path):
    rng = np.random.default_rng(3)
    for split, files in (("train", 8), ("valid", 3)):
        for at in range(files):
            heat, wet, wind = rng.normal(8, 7, 150), rng.uniform(30, 95, 150), rng.gamma(2, 2, 150)
            damage = np.tanh((4 - heat) / 5) + 0.01 * wet + rng.normal(0, 0.1, 150)
            if unit and split == "train" and at % 2:
                heat = heat * 1.8 + 32
            rows = [[f"{v:.3f}" for v in row] for row in zip(heat, wet, wind, damage, strict=True)]
            path = tmp_path / "world" / split / f"station_{at:02d}.csv"
            written(path, [("heat", "wet", "wind", "damage"), *rows])
    found = loud(tmp_path)
    assert [finding.code for finding in found] == codes
    assert all("`train/station_01.csv`" in finding.message for finding in found)

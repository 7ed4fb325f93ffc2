"""Truths about data that hold in every good world, each with one world that breaks it and one that only looks so."""

import csv
import hashlib
import json
import re
import wave

import numpy as np
import pytest

from premortem.findings import Severity
from premortem.preflight.project import Project
from tests.preflight.data.folded import survey


def found(folder, code, script=""):
    """What one check says about the files of a folder, beside a script that reads them."""
    target = folder.parent / f"{folder.name}_train.py"
    target.write_text(script)
    project = Project(
        folder=folder.parent,
        target=str(target) if script else "",
        argv=["--data", str(folder)],
        data=[folder],
    )
    findings = survey(project, lambda _line: None).findings
    return [f for f in findings if f.code == code and f.severity is not Severity.INFO]


def table(path, columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def sounds(folder, make):
    for at in range(6):
        with wave.open(str(folder / f"{at}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            wide = 30000 * np.sin(np.arange(4000) / (7 + at))
            file.writeframes(make(wide).astype("<i2").tobytes())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda wide: (8 * wide).clip(-32768, 32767), "clipped"),
        (lambda wide: (3 * wide).astype("int64") & 0xFFFF, "overflowed"),
        (lambda wide: wide, None),
        (
            lambda wide: np.random.default_rng(1).integers(-32768, 32768, len(wide)),
            None,
        ),  # noise is rough either way
    ],
)
def test_a_signal_stays_within_its_type(world, make, words):
    sounds(world, make)
    said = found(world, "PM718")
    assert [words in f.message for f in said] == ([True] if words else [])


def series(rng, count=1200):
    level = np.cumsum(rng.normal(0, 1, count))
    return {
        "hour": [str(at) for at in range(count)],
        "level": level.round(3),
        "wind": rng.normal(0, 1, count).round(3),
    }


def test_rows_follow_their_numbers_and_not_the_text_of_these(world, rng):
    columns = series(rng)
    order = sorted(range(1200), key=str)
    table(world / "gauge.csv", {name: [column[at] for at in order] for name, column in columns.items()})
    assert "`1` is followed by `10`" in found(world, "PM719", "open('gauge.csv')\n")[0].message
    assert not found(
        world, "PM719", "rows = sorted(open('gauge.csv'), key=lambda row: int(row.split(',')[0]))\n"
    )


def test_an_order_that_means_nothing_may_be_that_of_text(world, rng):
    columns = series(rng) | {"level": rng.normal(0, 1, 1200).round(3)}
    order = sorted(range(1200), key=str)
    table(world / "people.csv", {name: [column[at] for at in order] for name, column in columns.items()})
    assert not found(world, "PM719", "open('people.csv')\n")


@pytest.mark.parametrize(
    ("hours", "moved", "named"),
    [
        (9, True, True),
        (3, True, True),
        (0, True, False),
        (9, False, False),
        (3, False, False),
        (1, True, False),
    ],
)
@pytest.mark.parametrize("round_shape", [True, False])
def test_a_clock_stays_in_its_zone(world, rng, hours, moved, named, round_shape):
    """`moved`: the clock is wrong from there on; else it is right, and the logger has been off for so long. A round shape turned by three
    hours is still much like it was."""
    begin = np.datetime64("2024-01-01T00:00")
    true = np.arange(24 * 60)
    shown = np.where(true < 24 * 30, true, true - hours if moved else true)
    kept = np.ones(len(true), bool) if moved else (true < 24 * 30) | (true >= 24 * 30 + hours)
    load = (
        100
        + 40 * np.sin(2 * np.pi * true / 24)
        + (0 if round_shape else 20) * np.sin(4 * np.pi * true / 24 + 1)
        + rng.normal(0, 4, len(true))
    ).round(2)
    times = [str(begin + np.timedelta64(int(h), "h")).replace("T", " ") for h in shown[kept]]
    table(world / "load.csv", {"time": times, "load": load[kept], "rain": rng.random(len(times)).round(3)})
    said = found(world, "PM720", "open('load.csv')\n")
    assert bool(said) is named
    assert not named or "row 720" in said[0].message


def wandering(rng, count):
    """Without any rhythm: a row is like the one before it."""
    made = rng.normal(0, 1, count)
    for at in range(1, count):
        made[at] += 0.9 * made[at - 1]
    return made


@pytest.mark.parametrize(
    ("late", "named"),
    [
        (lambda hour: 3 * (hour >= 2000), True),
        (lambda hour: np.where(hour < 2000, -2, np.where(hour < 2500, 3, 2)), True),  # and summer time
        (lambda hour: -5 * (hour < 600), True),
        (lambda hour: 0 * hour, False),
        (lambda hour: 4 + 0 * hour, False),  # water takes four hours from the one to the other
        (lambda hour: (hour // 1000) % 2, False),  # summer time in one of them
        (lambda hour: hour // 250, False),  # a lag that grows
        (lambda hour: 3 * ((hour // 300) % 2), False),  # ... that comes and goes
        (lambda hour: 3 * ((hour > 1400) & (hour < 1500)), False),  # a few days of work on the logger
    ],
)
def test_two_tables_go_together_at_one_lag(world, rng, late, named):
    begin, hours = np.datetime64("2023-01-01T00:00"), np.arange(3000)
    rain = wandering(rng, 3100)

    def write(name, hour, columns):
        times = [str(begin + np.timedelta64(int(h), "h")).replace("T", " ") for h in hour]
        table(world / name, {"time": times} | {key: value.round(3) for key, value in columns.items()})

    write("rain.csv", hours, {"rain": rain[50 + hours - late(hours)], "wind": wandering(rng, 3000)})
    kept = rng.random(3000) > 0.02
    flow = rain[50 + hours] + 0.3 * rng.normal(0, 1, 3000)
    write("flow.csv", hours[kept], {"flow": flow[kept], "light": wandering(rng, kept.sum())})
    said = found(world, "PM720", "open('rain.csv'), open('flow.csv')\n")
    assert bool(said) is named
    assert not named or {"`rain` of `rain.csv`", "`flow` of `flow.csv`"} <= set(
        re.findall("`\\w+` of `[^`]+`", said[0].message)
    )


def test_the_clock_that_leaves_hours_out_is_named(world, rng):
    begin, hours = np.datetime64("2023-01-01T00:00"), np.arange(3000)
    rain = wandering(rng, 3000)
    for name, hour in {"rain": np.where(hours < 1500, hours, hours + 4), "flow": hours}.items():
        times = [str(begin + np.timedelta64(int(h), "h")).replace("T", " ") for h in hour]
        values = (rain + 0.3 * rng.normal(0, 1, 3000)).round(3)
        table(
            world / f"{name}.csv",
            {"time": times, name: values, f"{name}_level": wandering(rng, 3000).round(3)},
        )
    (said,) = found(world, "PM720", "open('rain.csv'), open('flow.csv')\n")
    assert "up to 2023-03-04 16:00" in said.message
    assert said.evidence["file"] == "rain.csv"
    assert "leaves out 4 hours" in said.message


def test_times_that_have_their_zones_with_them_are_right(world, rng):
    """Wall-clock times of a winter in Sydney and one in Athens: an instrument that was moved."""
    begin, hours = np.datetime64("2023-01-01T00:00"), np.arange(3000)
    load = 40 * np.sin(2 * np.pi * hours / 24) + rng.normal(0, 3, 3000)
    zones = np.where(hours < 1500, 2, 11)
    times = [
        f"{begin + np.timedelta64(int(h + z), 'h')}:00+{z:02}:00" for h, z in zip(hours, zones, strict=True)
    ]
    table(world / "load.csv", {"time": times, "load": load.round(2), "rain": rng.random(3000).round(3)})
    assert not found(world, "PM720", "open('load.csv')\n")


def loans(rng, fees):
    count = 1500
    income, debt = rng.normal(0, 1, count), rng.normal(0, 1, count)
    label = (rng.random(count) < 1 / (1 + np.exp(1.5 - income + debt))).astype(int)
    made = {
        "income": income.round(3),
        "debt": debt.round(3),
        "age": rng.normal(40, 9, count).round(2),
        "fees": fees(label, count),
    }
    return {**made, "defaulted": label}


def test_a_column_that_followed_from_the_label_is_named(world, rng):
    def late(label, count):
        return np.where(label == 1, rng.gamma(4, 60, count) + 150, rng.gamma(1.6, 20, count)).round(2)

    table(world / "loans.csv", loans(rng, late))
    said = found(world, "PM721", "rows = open('loans.csv')\ny = [row['defaulted'] for row in rows]\n")
    assert "`fees` of `loans.csv` tells `defaulted` by itself" in said[0].message


def test_a_label_that_was_drawn_at_a_limit_of_one_column_is_a_rule(world, rng):
    made = loans(rng, lambda label, count: rng.normal(0, 1, count).round(3))
    table(world / "loans.csv", made | {"defaulted": (made["fees"] > 0.3).astype(int)})
    assert not found(world, "PM721", "open('loans.csv')\n")


def test_classes_that_many_columns_know_are_no_leak(world, rng):
    label = rng.integers(0, 2, 1000)
    table(
        world / "blobs.csv",
        {f"x{at}": (6 * label + rng.normal(0, 1, 1000)).round(3) for at in range(4)} | {"kind": label},
    )
    assert not found(world, "PM721", "open('blobs.csv')\n")


def patients(world, rng, by_patient, one_label=True):
    who = np.repeat(np.arange(80), 8)
    own = rng.normal(0, 1, (80, 10))
    ill = rng.permutation(80) < 36
    x = own[who] + rng.normal(0, 0.2, (len(who), 10))
    label = ill[who] if one_label else rng.integers(0, 2, len(who))
    table(
        world / "walks.csv",
        {"patient": [f"P{p}" for p in who]}
        | {f"g{at}": x[:, at].round(4) for at in range(10)}
        | {"ill": label.astype(int)},
    )
    held = np.isin(who, rng.permutation(80)[:20])
    held = held if by_patient else rng.permutation(held)
    rows = {"train": np.flatnonzero(~held).tolist(), "val": np.flatnonzero(held).tolist()}
    (world / "split.json").write_text(json.dumps(rows))


def test_a_patient_is_in_one_split(world, rng):
    script = "open('walks.csv'), open('split.json'); y = row['ill']\n"
    patients(world, rng, by_patient=False)
    assert "groups of `patient`" in found(world, "PM725", script)[0].message
    patients(world, rng, by_patient=True)
    assert not found(world, "PM725", script)
    patients(
        world, rng, by_patient=False, one_label=False
    )  # a user rates many things: knowing the user is no answer
    assert not found(world, "PM725", script)


def test_a_file_has_the_rows_that_are_announced(world, rng):
    pairs = rng.integers(0, 300, (2000, 2))
    np.savez(world / "nodes.npz", x=rng.normal(0, 1, (300, 4)).astype("float32"))
    for kept in (2000, 130):
        table(world / "cites.csv", {"from": pairs[:kept, 0], "to": pairs[:kept, 1]})
        (world / "meta.json").write_text(json.dumps({"nodes": 300, "edges": 2000, "classes": 4}))
        said = found(world, "PM722", "open('cites.csv'), open('meta.json')\n")
        assert bool(said) is (kept < 2000)
    assert "`cites.csv` has 130 rows, and `edges` in `meta.json` announces 2,000" in said[0].message
    (world / "meta.json").write_text(
        json.dumps({"train": {"batch_size": 512, "steps": 9000, "max_rows": 5000}})
    )
    assert not found(world, "PM722", "open('cites.csv'), open('meta.json')\n")


def test_shards_have_the_rows_of_their_list(world, rng):
    for at in range(4):
        np.savez(world / f"part-{at}.npz", x=rng.normal(0, 1, (300 if at != 2 else 120, 4)))
    (world / "index.json").write_text(
        json.dumps([{"file": f"part-{at}.npz", "rows": 300} for at in range(4)])
    )
    said = found(world, "PM722")
    assert [f.evidence["file"] for f in said] == ["part-2.npz"]


def test_a_file_is_the_one_of_its_checksum(world, rng):
    np.save(world / "x.npy", rng.normal(0, 1, (50, 3)))
    right = hashlib.sha256((world / "x.npy").read_bytes()).hexdigest()
    (world / "SHA256SUMS").write_text(f"{right}  x.npy\n")
    assert not found(world, "PM723")
    np.save(world / "x.npy", rng.normal(0, 1, (50, 3)))
    assert "`x.npy` has another sha256" in found(world, "PM723")[0].message


WORDS = ["run", "slow", "jam", "idle"]


def looms(world, rng, array, codes):
    label = rng.integers(0, 4, 400)
    x = rng.normal(0, 1, (400, 5)).round(3)
    table(world / "train.csv", {f"s{at}": x[:, at] for at in range(5)} | {"state": [WORDS[k] for k in label]})
    np.savez(world / "cache.npz", x=array(x).astype("float32"), y=np.array(codes)[label])


@pytest.mark.parametrize("array", [lambda x: x, lambda x: (x - x.mean(0)) / x.std(0)])
def test_codes_beside_their_words_are_those_of_the_script(world, rng, array):
    script = f"STATES = {WORDS}\nopen('train.csv'), open('cache.npz')\nSTATES.index(row['state'])\n"
    looms(world, rng, array, [0, 2, 1, 3])
    assert "`jam` is 1 in the array and 2 in the list" in found(world, "PM724", script)[0].message
    looms(world, rng, array, [0, 1, 2, 3])
    assert not found(world, "PM724", script)


def test_an_array_of_a_table_has_its_numbers(world, rng):
    def changed(x):
        made = (x - x.mean(0)) / x.std(0)
        made[::5] = rng.normal(0, 1, (80, 5))
        return made

    script = "open('train.csv'), open('cache.npz')\n"
    looms(world, rng, changed, [0, 1, 2, 3])
    assert 70 <= found(world, "PM724", script)[0].evidence["rows"] <= 80
    looms(world, rng, lambda x: x.clip(-1, 1), [0, 1, 2, 3])  # cut on purpose
    assert not found(world, "PM724", script)


def test_keys_are_not_rounded(world, rng):
    account = 70_310_000 + np.arange(2000)
    table(world / "features.csv", {"account": rng.permutation(account), "x": rng.normal(0, 1, 2000).round(3)})
    for kind in ("float32", "float64"):
        table(
            world / "outcomes.csv",
            {"account": account.astype(kind).tolist(), "late": rng.integers(0, 2, 2000)},
        )
        assert bool(found(world, "PM726", "open('features.csv'), open('outcomes.csv')\n")) is (
            kind == "float32"
        )


@pytest.mark.parametrize(
    ("name", "held", "named"),
    [("history", True, True), ("history", False, False), ("candidates", True, False)],
)
def test_the_answer_is_not_among_the_inputs(world, rng, name, held, named):
    with (world / "sessions.jsonl").open("w") as file:
        for _ in range(300):
            tracks = rng.permutation(200)[:7].tolist()
            past = tracks[:6] if not held else [*tracks[:5], tracks[6]]
            file.write(json.dumps({name: past, "next": tracks[6]}) + "\n")
    assert (
        bool(found(world, "PM727", f"open('sessions.jsonl'); x, y = row['{name}'], row['next']\n")) is named
    )


def test_the_last_version_is_the_one_with_the_highest_number(world, rng):
    script = "import glob\nlast = sorted(glob.glob('data/v_*.npy'))[-1]\n"
    for at in range(1, 10):
        np.save(world / f"v_{at}.npy", rng.normal(0, 1, (20, 3)))
    assert not found(world, "PM728", script)
    np.save(world / "v_10.npy", rng.normal(0, 1, (20, 3)))
    assert "the one with the highest number is `v_10.npy`" in found(world, "PM728", script)[0].message
    assert not found(world, "PM728", script.replace("*.npy')", "*.npy'), key=number"))


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("run.yaml", "lr: 0.1\nmodel:\n  lr: 0.2\n", False),
        ("run.yaml", "lr: 0.1\nwidth: 3\nlr: 0.5\n", True),
        ("run.json", '{"lr": 0.1, "width": 3, "lr": 0.5}', True),
    ],
)
def test_a_key_stands_once(world, name, text, named):
    (world / name).write_text(text)
    np.save(world / "x.npy", np.arange(300.0).reshape(100, 3))
    assert bool(found(world, "PM729", f"open('{name}')\n")) is named


def reviews(world, rng, change, change_of_the_other=lambda texts: texts):
    words = np.array("a small green house stands beside the long river and a dog runs there".split())
    for name, count, make in (("train.csv", 300, change), ("val.csv", 150, change_of_the_other)):
        texts = [" ".join(rng.choice(words, rng.integers(4, 30))) for _ in range(count)]
        table(world / name, {"text": make(texts), "label": rng.integers(0, 3, count)})
    return found(world, "PM730", "open('train.csv'), open('val.csv'); row['text']\n")


def test_texts_are_there_and_whole(world, rng):
    assert not reviews(world, rng, lambda texts: texts)
    assert (
        "from row 50 on"
        in reviews(world, rng, lambda texts: texts[:50] + [""] * 100 + texts[150:])[0].message
    )
    spread = reviews(world, rng, lambda texts: ["" if at % 4 == 0 else text for at, text in enumerate(texts)])
    assert not spread
    assert "exactly 60 letters" in reviews(world, rng, lambda texts: [text[:60] for text in texts])[0].message


@pytest.mark.parametrize("change", [lambda x: x.round(2), lambda x: x + 0.01])
def test_rows_that_are_judged_are_not_nearly_trained_on(world, rng, change):
    x = rng.normal(0, 1, (600, 6))
    np.savez(world / "train.npz", x=x[:400])
    np.savez(world / "val.npz", x=x[400:])
    assert not found(world, "PM732")
    np.savez(world / "val.npz", x=change(x[100:300]))
    assert "200 of 200 rows of `val.npz[x]`" in found(world, "PM732")[0].message


def test_neighbours_by_nature_are_no_copies(world, rng):
    x = np.repeat(rng.normal(0, 1, (100, 6)), 5, axis=0) + rng.normal(0, 0.001, (500, 6))
    order = rng.permutation(500)
    np.savez(world / "train.npz", x=x[order[:350]])
    np.savez(world / "val.npz", x=x[order[350:]])
    assert not found(world, "PM732")


def test_rows_have_the_cells_of_their_header(world, rng):
    def write(name, head_again=False):
        with (world / "people.csv").open("w") as file:
            for at in range(200):
                if at == 0 or (head_again and at == 100):
                    file.write("name,age,size,label\n")
                file.write(f"{name(at)},{rng.integers(20, 60)},{rng.normal():.3f},{at % 2}\n")
        return found(world, "PM733", "open('people.csv')\n")

    assert not write(lambda at: "Ann Smith")
    assert not write(lambda at: '"Smith, Ann"' if at % 5 == 0 else "Ann")
    assert "40 of 200 rows" in write(lambda at: "Smith, Ann" if at % 5 == 0 else "Ann")[0].message
    assert "stands 2 times" in write(lambda at: "Ann", head_again=True)[0].message


def test_columns_that_are_read_by_place_are_in_one_order(world, rng):
    x = rng.normal(0, 1, (400, 4)).round(3)
    columns = {name: x[:, at] for at, name in enumerate(("age", "income", "size", "rate"))}
    table(world / "train.csv", columns)
    table(world / "val.csv", {name: columns[name] for name in ("age", "rate", "size", "income")})
    by_place = "rows = csv.reader(open('train.csv')), csv.reader(open('val.csv')); x = row[1:]\n"
    assert "column 1 is `income` in the one and `rate`" in found(world, "PM735", by_place)[0].message
    assert not found(world, "PM735", by_place + "row['income'], row['rate']\n")


def test_notes_of_two_splits_agree_or_are_read(world, rng):
    h5py = pytest.importorskip("h5py")
    for name, scale in (("train.h5", 0.001), ("val.h5", 0.002)):
        with h5py.File(world / name, "w") as file:
            made = file.create_dataset("x", data=rng.integers(-900, 900, (100, 8)).astype("int16"))
            made.attrs["scale_factor"] = scale
            made.attrs["created_by"] = name
    script = "open('train.h5'), open('val.h5')\n"
    assert "`scale_factor` is 0.001 in `train.h5` and 0.002" in found(world, "PM736", script)[0].message
    assert not found(world, "PM736", script + "scale = x.attrs['scale_factor']\n")


def test_bytes_are_in_the_order_in_which_they_are_read(world, rng):
    waves = (3000 * np.sin(np.arange(128) / rng.uniform(4, 9, (200, 1)))).astype("<i2")
    script = "x = np.fromfile('train.bin', dtype='<i2')\n"
    for kind in ("<i2", ">i2"):
        waves.astype(kind).tofile(world / "train.bin")
        assert bool(found(world, "PM737", script)) is (kind == ">i2")
    rng.integers(-3000, 3000, (200, 128)).astype("<i2").tofile(world / "train.bin")
    assert not found(world, "PM737", script)


@pytest.mark.parametrize("change", ["", "moved", "shorter"])
def test_words_and_tags_run_side_by_side(world, rng, change):
    words = [f"w{at}" for at in range(60)]
    with (world / "train.jsonl").open("w") as file:
        for at in range(200):
            tokens = [str(word) for word in rng.choice(words, rng.integers(5, 15))]
            tags = ["OPQ"[int(word[1:]) % 3] for word in tokens]
            tags = (
                ["O", *tags[:-1]]
                if change == "moved"
                else tags[:-1]
                if change == "shorter" and at % 25 == 0
                else tags
            )
            file.write(json.dumps({"tokens": tokens, "tags": tags}) + "\n")
    said = found(world, "PM738", "open('train.jsonl'); zip(row['tokens'], row['tags'])\n")
    assert bool(said) is bool(change)
    assert change != "moved" or "`tags` goes with the entry before its own" in said[0].message
    assert change != "shorter" or "in 8 of 200 records" in said[0].message


def test_a_column_keeps_its_digits_in_each_split(world, rng):
    size = rng.gamma(3, 4, 500)
    table(world / "train.csv", {"size": size[:300].astype(int), "x": rng.normal(0, 1, 300).round(3)})
    table(world / "val.csv", {"size": size[300:].round(3), "x": rng.normal(0, 1, 200).round(3)})
    said = found(world, "PM739", "open('train.csv'), open('val.csv')\n")
    assert "`size` has only whole numbers in `train.csv`" in said[0].message
    table(world / "train.csv", {"size": size[:300].round(3), "x": rng.normal(0, 1, 300).round(3)})
    assert not found(world, "PM739", "open('train.csv'), open('val.csv')\n")


@pytest.mark.parametrize("turned", [True, False])
def test_tokens_are_filled_up_on_one_side(world, rng, turned):
    for name in ("train", "val"):
        ids = rng.integers(1, 90, (200, 20))
        ids[np.arange(20)[None] >= rng.integers(6, 20, (200, 1))] = 0
        np.savez(world / f"{name}.npz", ids=ids[:, ::-1] if turned and name == "val" else ids)
    assert bool(found(world, "PM740")) is turned


@pytest.mark.parametrize("slower", [True, False])
def test_signals_run_at_one_speed(world, rng, slower):
    for name, speed in (("train", 1.0), ("val", 0.4 if slower else 1.0)):
        waves = np.sin(speed * np.arange(200) / rng.uniform(4, 6, (100, 1))) + rng.normal(0, 0.01, (100, 200))
        np.savez(world / f"{name}.npz", x=waves.astype("float32"))
    assert bool(found(world, "PM741")) is slower

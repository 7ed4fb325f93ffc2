"""Two statements about one rate."""

import json
import wave

import numpy as np
import pytest

from tests.preflight.data.test_truths import found, table


def record(path, rng, step, count=400, name="time"):
    table(path, {name: (np.arange(count) * step).round(6), "level": rng.normal(0, 1, count).round(3)})


def test_a_note_that_was_left_behind_when_one_file_was_thinned_out(world, rng):
    for split, step in (("train", 0.01), ("val", 0.02)):
        record(world / f"{split}.csv", rng, step)
    (world / "meta.json").write_text(json.dumps({"sampling_rate": 100, "sensor": "a"}))
    (said,) = found(world, "PM745")
    assert "says 100 samples per second" in said.message
    assert "50 samples per second; it is right about `train.csv`" in said.message
    assert not found(world, "PM745", "open('train.csv'), open('val.csv')\n")  # it does not read the note


@pytest.mark.parametrize("key", ["fs", "SampleRate", "dt"])
def test_notes_by_file(world, rng, key):
    notes = {}
    for at in range(4):
        record(world / f"rec{at}.csv", rng, 0.004 if at == 2 else 0.002)
        notes[f"rec{at}.csv"] = {key: 0.002 if key == "dt" else 500}
    (world / "notes.json").write_text(json.dumps(notes))
    assert "`rec2.csv`" in found(world, "PM745")[0].message


def test_archives_that_hold_both(world, rng):
    for at in range(4):
        step = 0.004 if at == 1 else 0.002
        np.savez(world / f"rec{at}.npz", x=rng.normal(0, 1, 400), t=np.arange(400) * step, fs=500)
    assert "`rec1.npz`" in found(world, "PM745")[0].message


def sounds(world, rates, counts, seconds):
    for at, (rate, number) in enumerate(zip(rates, counts, strict=True)):
        with wave.open(str(world / f"s{at}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(np.random.default_rng(at).integers(-99, 99, number).astype("<i2").tobytes())
    table(world / "list.csv", {"file": [f"s{at}.wav" for at in range(len(rates))], "duration": seconds})


def test_headers_of_another_rate(world, rng):
    counts = rng.integers(4000, 9000, 12)
    sounds(world, [8000] * 6 + [16000] * 6, counts, (counts / 8000).round(4))
    (said,) = found(world, "PM745")
    assert "headers of 6 recordings say 16000 samples per second" in said.message
    assert "8000 samples per second" in said.message.partition("disagrees")[2]


HEALTHY_NOTES = {
    "a film": ({"fps": 30}, (0.1, 0.1)),
    "in milliseconds": ({"fs": 100}, (10, 0.01)),
    "right about both": ({"fs": 100}, (0.01, 0.01)),
    "of each": ({"train": {"fs": 100}, "val": {"fs": 50}}, (0.01, 0.02)),
    "a tone": ({"hz": 100}, (0.01, 0.02)),
    "an orbit": ({"period": 0.01}, (0.01, 0.02)),
    "rows": ({"fs": 100}, (0.01, 1)),
}


@pytest.mark.parametrize("name", HEALTHY_NOTES)
def test_notes_that_are_right_or_of_another_thing(world, rng, name):
    note, steps = HEALTHY_NOTES[name]
    for split, step in zip(("train", "val"), steps, strict=True):
        record(world / f"{split}.csv", rng, step)
    (world / "meta.json").write_text(json.dumps(note))
    assert not found(world, "PM745")


@pytest.mark.parametrize(
    "seconds",
    [
        lambda c, rng: c / 8000,
        lambda c, rng: c / 8,  # milliseconds
        lambda c, rng: c / 8000 * rng.uniform(0.3, 0.9, len(c)),  # what is spoken in it
        lambda c, rng: np.full(len(c), 0.5),
    ],
)
def test_lengths_of_another_thing(world, rng, seconds):
    counts = rng.integers(4000, 9000, 12)
    sounds(world, [8000] * 12, counts, seconds(counts, rng).round(4))
    assert not found(world, "PM745")

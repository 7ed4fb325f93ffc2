"""The faults that were written after the code, and their healthy twins: `bench/numerics.py --set unseen` counts them."""

import difflib
import json
from pathlib import Path

import pytest

from bench.split import half_of
from tests.numerics.grade import Grade, grade

HERE = Path(__file__).parent / "unseen"
ENTRIES = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_a_twin_is_the_same_script_but_for_the_fault(entry):
    fault, twin = ((HERE / kind / entry["file"]).read_text().splitlines() for kind in ("faults", "healthy"))
    other = [line for line in difflib.ndiff(fault, twin) if line[0] in "+-"]
    assert 0 < len(other) <= 8
    assert fault[entry["line"] - 1].strip()
    assert entry["half"] == half_of(entry["file"].removesuffix(".py"), "numerics-unseen")


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")  # of numpy and torch, in the scripts
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_the_run_alone_detects_it_and_the_twin_hears_nothing(entry):
    told: Grade = grade({"sample": None, "step": 0, **entry, "path": str(HERE / "faults" / entry["file"])})
    assert told.found
    healthy = grade({"file": entry["file"], "path": str(HERE / "healthy" / entry["file"])})
    assert healthy.loud == []

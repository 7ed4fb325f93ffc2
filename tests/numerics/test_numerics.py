"""The planted numerics set: what its manifest says is true, and clean scripts hear nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.numerics.grade import Grade, grade
from tests.numerics.manifest import HERE, entries, plain
from tests.numerics.verify import wrong

PLANTED = [e for e in entries() if "stage" in e]
CLEAN = [e for e in entries() if "stage" not in e]
# One of each stage and of each way to be born; `python -m tests.numerics.verify` does all of them.
CHECKED = "turnstile_counts range_where chat_attention glitch_moment weather_csv scanner_calibration gan_logs".split()


def named(entry: dict[str, Any]) -> str:
    return Path(entry["file"]).stem


def test_every_script_is_in_the_manifest_and_small() -> None:
    scripts = {
        f"{path.parent.name}/{path.name}"
        for kind in ("faults", "clean")
        for path in (HERE / kind).glob("*.py")
    }
    assert scripts == {e["file"] for e in entries()}
    assert {
        e["file"]: n for e in entries() if (n := len(Path(e["path"]).read_text().splitlines())) > 60
    } == {}


def test_the_set_is_as_large_as_it_says() -> None:
    assert len(PLANTED) >= 28
    assert len(CLEAN) >= 10
    assert {e["stage"] for e in PLANTED} == {"forward", "backward", "update", "data"}


@pytest.mark.parametrize("entry", [e for e in PLANTED if named(e) in CHECKED], ids=named)
def test_torch_itself_agrees_with_the_manifest(entry: dict[str, Any]) -> None:
    assert wrong(entry) == ""


@pytest.mark.parametrize(
    "change", [{"step": 22}, {"line": 20}, {"op": ["sqrt"]}, {"stage": "backward"}, {"sample": 6}]
)
def test_a_manifest_that_is_wrong_would_be_noticed(change: dict[str, Any]) -> None:
    (entry,) = entries("turnstile_counts")
    assert wrong({**entry, **change}) != ""


@pytest.mark.parametrize("entry", CLEAN, ids=named)
def test_a_clean_script_hears_nothing(entry: dict[str, Any]) -> None:
    result = grade(entry)
    assert result.loud == [], result


# What a script hides: `bug_*` is broken though its loss looks well, `ok_*` uses the same means and is not.
MASKED = sorted((HERE / "masked").glob("*.py"))


@pytest.mark.parametrize("script", MASKED, ids=lambda script: script.stem)
def test_what_is_hidden_is_told_and_what_is_handled_is_not(script: Path) -> None:
    result = grade({"file": f"masked/{script.name}", "path": str(script)})
    found = [(f["name"], f["family"], f["severity"]) for f in result.loud or []]
    broken = script.stem.startswith("bug_")
    assert result.loud is not None, result
    assert found == [("masked-non-finite", "numerics-masked", "error")] * broken, result


def finding(**changes: Any) -> dict[str, Any]:
    found = {"code": "PM1", "family": "numerics-nan", "severity": "error", "step": 24, "message": ""}
    where = {"file": "/x/turnstile_counts.py", "line": 19}
    return {**found, "where": where, "evidence": {"op": "log", "rows": [5]}, **changes}


@pytest.mark.parametrize(
    ("changes", "wrong_part"),
    [
        ({}, None),
        ({"step": 26}, "detected"),
        ({"step": 3}, "detected"),
        ({"family": "scheduler"}, "everything"),
        ({"evidence": {"op": "sqrt", "rows": [5]}}, "op"),
        ({"where": {"file": "/x/turnstile_counts.py", "line": 20}}, "line"),
        ({"where": {"file": "/x/other.py", "line": 19}}, "line"),
    ],
)
def test_the_grader_is_strict(changes: dict[str, Any], wrong_part: str | None) -> None:
    (entry,) = entries("turnstile_counts")
    result = Grade(entry, "", [finding(**changes)])
    parts = ["detected", "op", "line"]
    expected = parts if wrong_part == "everything" else [wrong_part] if wrong_part else []
    assert [part for part in parts if not getattr(result, part)] == expected
    assert result.good == (wrong_part is None)


def test_spellings_of_an_operation() -> None:
    same = ["aten::_softmax.default", "SoftmaxBackward0", "softmax_", "torch.softmax"]
    assert {plain(name) for name in same} == {"softmax"}
    assert plain("_foreach_addcdiv_") == "addcdiv"
    assert plain("NativeLayerNormBackward0") == "native_layer_norm"

"""Small real training scripts, buggy and fixed, through `premortem run` as real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.twins.grade import entries, grade

# What premortem does not see yet, and why. A row leaves this list when it is caught.
# Of the public catalog of silent bugs, those that are not reported within two steps of where they begin.
CAUGHT_LATE = {
    "catalog/buggy/retina_adapt.py": "parts of a model may be frozen in turns: only what stays frozen is a leftover",
}
BUGGY = [e for e in entries() if e["set"] == "buggy"]
HEALTHY = [e for e in entries() if e["set"] != "buggy"]


def _asked() -> Iterator[Any]:
    """Under `strict` the first error ends the script: what comes first is known then."""
    for entry in BUGGY:
        yield pytest.param(entry, "observe", id=f"{entry['file']}-observe", marks=pytest.mark.exhaustive)
        yield pytest.param(entry, "strict", id=entry["file"])


@pytest.mark.parametrize(("entry", "policy"), list(_asked()))
def test_the_root_cause_is_named_first(entry: dict[str, Any], policy: str) -> None:
    result = grade(entry, policy)
    assert result.first, result
    if "trigger_step" in entry and entry["file"] not in CAUGHT_LATE:
        assert result.loud is not None
        assert result.loud[0]["step"] <= entry["trigger_step"] + 2


# The slowest, each with faster ones of its kind among the others.
SELDOM = {
    "clean/moons_wgan_gp.py",
    "clean/fuel_sweep.py",
    "clean/glyph_dcgan.py",
    "clean/galaxy_accum_tail.py",
    "clean/radar_probe.py",
    "clean/seismic_aux_head.py",
    "clean/warehouse_dqn.py",
    "clean/spiral_wgan.py",
    "fixed/soil_kfold.py",
    "fixed/spam_bow.py",
    "fixed/leaf_transfer.py",
    "fixed/voice_pairs.py",
    "fixed/battery_fade.py",
    "fixed/glacier_melt.py",
    "fixed/galaxy_photoz.py",
    "fixed/ecg_beats.py",
    "fixed/warehouse_picks.py",
    "fixed/hand_pose.py",
    "fixed/dune_gan.py",
}


def _heard() -> Iterator[Any]:
    """Of the fixed scripts of one family one: that its detectors are silent without the fault is held by their contract,
    on events, for each (tests/detectors/test_contract.py)."""
    families = {Path(entry["file"]).name: entry["category"] for entry in BUGGY}
    shown: set[str] = set()
    for entry in HEALTHY:
        seldom = entry["file"] in SELDOM
        if entry["set"] == "fixed" and not seldom:
            family = families[Path(entry["file"]).name]
            seldom = family in shown
            shown.add(family)
        yield pytest.param(entry, id=entry["file"], marks=pytest.mark.exhaustive if seldom else [])


@pytest.mark.parametrize("entry", list(_heard()))
def test_a_healthy_script_hears_nothing(entry: dict[str, Any]) -> None:
    result = grade(entry)
    assert result.loud == [], result

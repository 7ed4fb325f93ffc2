"""What holds for every mutant in the list."""

import inspect
from pathlib import Path

import pytest

from premortem.drill import mutants
from premortem.findings import FAMILIES

FOLDER = Path(inspect.getfile(mutants)).parent
SHARED = {"__init__", "base", "rates"}


@pytest.mark.parametrize("cls", mutants.ALL, ids=lambda cls: cls.name)
def test_it_says_what_it_is(cls):
    assert cls.families, "without families no finding can be right"
    assert cls.families <= set(FAMILIES)
    assert (cls.__doc__ or "").strip().endswith(".")
    assert cls.needs
    # One file each, with its name.
    assert Path(inspect.getfile(cls)).stem.replace("_", "-") == cls.name


def test_each_file_is_in_the_list():
    files = {path.stem.replace("_", "-") for path in FOLDER.glob("*.py") if path.stem not in SHARED}
    assert files == {cls.name for cls in mutants.ALL}
    assert len(mutants.ALL) >= 15

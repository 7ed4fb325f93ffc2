"""`premortem run --quiet`: whatever ends the script, it leaves what it leaves alone, byte for byte, and dies of the same."""

import pytest

from tests.endings import ENDINGS, ended

USUAL = ("interrupted", "terminated")


def same(name, tmp_path):
    alone = ended(name, tmp_path / "alone", watched=False)
    watched = ended(name, tmp_path / "watch", watched=True)
    assert watched == alone._replace(err=alone.err.replace(b"/alone/", b"/watch/"))


@pytest.mark.parametrize("name", USUAL)
def test_nothing_is_said(name, tmp_path):
    same(name, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in ENDINGS if name not in USUAL])
def test_nor_at_any_other_end(name, tmp_path):
    same(name, tmp_path)

import pytest

from premortem import amounts
from premortem.findings import Where


@pytest.mark.parametrize(
    ("number", "plain", "exact"),
    [
        (7, "7 B", "7 B"),
        (64 << 20, "64.0 MiB", "64 MiB"),
        (5 << 28, "1.2 GiB", "1.25 GiB"),
        (150 << 20, "150 MiB", "150 MiB"),
        (1020 << 10, "1020 KiB", "1020 KiB"),
    ],
)
def test_bytes_as_a_person_reads_them(number, plain, exact):
    assert (amounts.size(number), amounts.size(number, digits=3)) == (plain, exact)


def test_several():
    assert amounts.count(1, "epoch") == "1 epoch"
    assert amounts.count(3, "epoch") == "3 epochs"
    assert amounts.count(2000, "batch") == "2,000 batches"


def test_moments():
    assert amounts.minute(1772373909.25) == "2026-03-01 14:05"
    assert amounts.stamp(1772373909.25) == "2026-03-01T14:05:09.250+00:00"


@pytest.mark.parametrize(
    ("where", "spot"),
    [
        (Where(), ""),
        (Where(line=3), ""),
        (Where("a/t.py"), "A/T.PY"),
        (Where("a/t.py", 3, "head"), "A/T.PY:3"),
    ],
)
def test_the_place_of_a_finding(where, spot):
    assert where.spot(str.upper) == spot

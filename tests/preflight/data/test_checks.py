"""Where a check draws its lines, with facts that need no disk."""

import pytest

from premortem.findings import Severity
from premortem.preflight.data import ALL
from premortem.preflight.data.data_facts import (
    Classes,
    ClipLength,
    Copies,
    DataFacts,
    Group,
    Length,
    Look,
    Overlap,
    Pairing,
    Root,
    Sequence,
    Trouble,
)

BY_CODE = {check.card.code: check for check in ALL}


def said(code, facts):
    return [finding.severity.value for finding in BY_CODE[code]().look(facts)]


def root(**more):
    return DataFacts(roots=(Root(name="set", files=1000, samples=1000, **more),))


@pytest.mark.parametrize(
    ("shared", "of", "severity"),
    [(1, 10_000, "info"), (5, 100, "warning"), (60, 100, "error"), (4, 5, "warning")],
)
def test_how_much_two_splits_may_share(shared, of, severity):
    overlap = Overlap(first="train", second="val", shared=shared, of=of, how="bytes", examples=(("a", "b"),))
    assert said("PM663", root(overlaps=(overlap,))) == [severity]


def test_validation_and_test_may_be_one():
    overlap = Overlap(first="val", second="test", shared=90, of=90, how="bytes", trained=False)
    assert said("PM663", root(overlaps=(overlap,))) == ["info"]


@pytest.mark.parametrize(("shared", "said_"), [(2, []), (4, []), (6, ["warning"])])
def test_a_few_lookalikes_are_chance(shared, said_):
    overlap = Overlap(first="train", second="val", shared=shared, of=100, how="near", examples=(("a", "b"),))
    assert said("PM664", root(overlaps=(overlap,))) == said_


@pytest.mark.parametrize(
    ("missing", "more", "severity"),
    [
        (1, {}, "warning"),
        (20, {}, "warning"),
        (70, {}, "info"),
        (1, {"annotations": True}, "info"),
        (1, {"counted": True}, "info"),
    ],
)
def test_what_lacks_a_target_by_accident(missing, more, severity):
    names = tuple(f"images/{n}.png" for n in range(missing))
    pairing = Pairing(left="images", right="masks", both=100 - missing, left_only=names, **more)
    assert said("PM656", root(pairings=(pairing,))) == [severity]


@pytest.mark.parametrize(
    ("lengths", "said_"), [((8, 8, 8), ["error"]), ((8, 8, 20), ["warning"]), ((8, 20, 20), [])]
)
def test_how_many_sequences_may_be_too_short(lengths, said_):
    sequences = tuple(Sequence(name=f"s{n}", counts=(("blur", length),)) for n, length in enumerate(lengths))
    facts = DataFacts(
        roots=(Root(name="set", samples=99, sequences=sequences),),
        clips=(ClipLength(name="CLIP_LEN", frames=12),),
    )
    assert said("PM654", facts) == said_


@pytest.mark.parametrize(("damaged", "severity"), [(1, "warning"), (501, "error")])
def test_a_dataset_that_is_mostly_damaged_is_broken(damaged, severity):
    trouble = tuple(Trouble(path=f"{n}.png", why="it is empty (0 bytes)") for n in range(damaged))
    assert said("PM655", root(trouble=trouble)) == [severity]


def looks(*tops, kind="array"):
    made = [Look(path=f"{n}", kind=kind, high=top, low=0.0, values=9) for n, top in enumerate(tops)]
    return root(groups=(Group(name="x", kind=kind, role="target", count=len(made), looks=tuple(made)),))


@pytest.mark.parametrize(
    ("tops", "said_"),
    [
        ([1.0] * 30 + [255.0], ["warning"]),
        ([1.0] * 31, []),
        ([1.0] * 10 + [255.0], []),  # too few to know what is usual
        ([1.0] * 25 + [255.0] * 6, []),  # two usual scales
        ([1.0, 3.0, 9.0, 27.0] * 8 + [900.0], []),  # a heavy tail
        ([0.0] * 30 + [255.0], []),  # nearly all empty: nothing to compare with
    ],
)
def test_a_scale_is_odd_only_among_equals(tops, said_):
    assert said("PM661", looks(*tops)) == said_


@pytest.mark.parametrize(
    ("labels", "said_"),
    [
        ({"0": 50, "1": 50, "2": 50, "40": 1}, ["warning"]),
        ({"0": 50, "1": 50, "2": 50, "255": 1}, []),
        ({"0": 50, "1": 50, "-1": 30}, []),
        ({"0": 50, "1": 50, "-7": 1}, ["warning"]),
        ({"0": 50, "1": 50, "2": 1}, []),
        ({"1": 50, "5": 50, "90": 1}, []),  # not numbered as classes are
        ({"cat": 50, "dog": 50}, []),
    ],
)
def test_a_label_is_odd_only_beside_classes_without_gaps(labels, said_):
    look = Look(path="train.csv", kind="table", labels=tuple(labels.items()))
    assert said("PM671", root(groups=(Group(name=".", kind="table", looks=(look,)),))) == said_


@pytest.mark.parametrize(
    ("val", "said_"),
    [("abd", ["warning"]), ("abc", []), ("abcd", []), ("wxyz", []), ("Abcd", ["warning"])],
)
def test_classes_differ_only_where_numbers_do(val, said_):
    splits = [
        Classes(split=split, place="*", counts=tuple((name, 9) for name in found))
        for split, found in (("train", "abcd"), ("val", val))
    ]
    assert said("PM669", root(classes=tuple(splits))) == said_


def test_many_pictures_in_two_classes_have_two_labels_on_purpose():
    pairs = tuple((f"a/{n}", f"b/{n}") for n in range(30))
    copies = Copies(count=30, of=100, examples=pairs[:5], contradicting=pairs)
    assert said("PM666", root(copies=copies)) == ["info"]


@pytest.mark.parametrize(
    ("length", "files", "read", "said_"),
    [(3, 1000, 6, ["warning"]), (3, 20, 3, []), (200, 10_000, 200, []), (3, 1000, 300, [])],
)
def test_a_short_dataset_is_suspicious_only_beside_many_files_that_it_does_not_read(
    length, files, read, said_
):
    facts = DataFacts(lengths=(Length(name="train", length=length, folder="x", files=files, read=read),))
    assert said("PM653", facts) == said_


def test_nan_in_most_files_is_a_mark_for_gaps():
    made = tuple(Look(path=f"{n}", kind="array", values=100, nan=10) for n in range(20))
    (finding,) = BY_CODE["PM662"]().look(root(groups=(Group(name="depth", kind="array", looks=made),)))
    assert finding.severity is Severity.INFO

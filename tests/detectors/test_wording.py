import pytest

from premortem.amounts import count, some
from premortem.detectors.shared.wording import parameters_of, place


@pytest.mark.parametrize(
    ("names", "where"),
    [
        (["model.head.weight", "model.head.bias"], "model.head"),
        (["model.head.weight"], "model.head.weight"),
        (["encoder.weight", "decoder.weight"], ""),
        ([], ""),
    ],
)
def test_the_place_is_what_all_names_share(names, where):
    assert place(names) == where


def test_many_parameters_take_few_words():
    assert parameters_of(["a.w"]) == "`a.w`"
    assert parameters_of(["a.w", "a.b"]) == "the 2 parameters of `a`"
    assert parameters_of(["a.w", "b.w"]) == "`a.w`, `b.w`"
    assert some(["a", "b", "c", "d", "e"]) == "`a`, `b`, `c` and 2 more"
    assert (count(1, "step"), count(2, "step")) == ("1 step", "2 steps")

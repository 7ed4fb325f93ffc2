import pytest

from premortem.errors import UsageError
from premortem.fit import gpus, reductions
from premortem.fit.gpus import GIB, MIB


def test_cards_are_found_as_people_write_them():
    assert {gpus.by_name(word).name for word in ("H100", "h100")} == {"h100"}
    assert gpus.by_name("RTX 4090".replace(" ", "")).name == "4090"
    assert gpus.by_name("a100").name == "a100-80g"


@pytest.mark.parametrize(
    ("word", "size"), [("24GiB", 24 * GIB), ("24g", 24 * GIB), ("80GB", 80 * 10**9), (str(2**34), 2**34)]
)
def test_a_size_is_a_card(word, size):
    assert gpus.by_name(word).memory == size


@pytest.mark.parametrize(
    ("word", "sentence"), [("h1000", "did you mean `h100`"), ("many", "there are t4"), ("24", "forgot")]
)
def test_what_is_no_card_is_told(word, sentence):
    with pytest.raises(UsageError, match=sentence.replace("forgot", "did you forget the unit")):
        gpus.by_name(word)


# Measured with torch 2.11 on an H200 (bench/fit_scratch.py, and the bias gradients of bench/fit.py).
@pytest.mark.parametrize(
    ("shape", "reduced", "accumulator", "megabytes"),
    [
        ((8192, 4096), (0,), 4, 132),
        ((8192, 4096), (0,), 16, 528),
        ((8192, 4096), (1,), 4, 0),
        ((1024, 4096), (0,), 4, 32),
        ((16384, 1000), (0,), 4, 125),
    ],
)
def test_what_a_reduction_borrows(shape, reduced, accumulator, megabytes):
    found = reductions.buffer(
        shape, (shape[1], 1), reduced, gpu=gpus.by_name("h200"), accumulator=accumulator
    )
    assert found == megabytes * MIB


def test_a_number_is_bytes():
    assert gpus.by_name(24 * 2**30).memory == 24 * 2**30


@pytest.mark.parametrize(
    ("word", "sentence"), [(12, "forget the unit"), (None, "not None"), (3.5, "not 3.5")]
)
def test_what_is_no_card_is_a_sentence(word, sentence):
    with pytest.raises(UsageError, match=sentence):
        gpus.by_name(word)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("RTX 4090", "4090"),
        ("NVIDIA GeForce RTX 4090", "4090"),
        ("A100-80GB", "a100-80g"),
        ("NVIDIA A100-SXM4-40GB", "a100-40g"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("rtx_3090", "3090"),
        ("6000 Ada", "6000-ada"),
    ],
)
def test_a_card_is_known_however_it_is_written(written, name):
    assert gpus.by_name(written).name == name

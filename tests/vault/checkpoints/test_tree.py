"""States as JSON and tensors, and back."""

import collections
import json
import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from premortem.vault.tree import Taken, together

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
keys = st.text() | st.integers() | st.tuples(st.integers(), st.text())
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.lists(inner).map(tuple),
    max_leaves=20,
)


def round_trip(value):
    taken = Taken()
    tree = json.loads(json.dumps(taken.apart(value), allow_nan=False))
    assert taken.left_out == []
    return together(tree, taken.tensors.__getitem__)


@given(values)
def test_what_is_plain_comes_back_as_it_was(value):
    back = round_trip(value)
    assert back == value
    assert repr(back) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("-inf"),
        3 + 4j,
        {1, 2},
        collections.Counter({30: 1, 80: 2}),
        np.float64(0.5),
        np.int32(-7),
        torch.float16,
        torch.device("cpu"),
        {"$": "tensor", "v": 1},
        {"a.b": 1, "a": {"b": 2}},
    ],
    ids=repr,
)
def test_what_json_has_no_word_for_comes_back(value):
    back = round_trip(value)
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_random_states_come_back():
    generator = np.random.get_state()  # noqa: NPY002 - the global one is what scripts draw from
    state = {"python": random.getstate(), "numpy": generator, "torch": torch.get_rng_state()}
    back = round_trip(state)
    assert back["python"] == state["python"]
    assert all(np.array_equal(a, b) for a, b in zip(back["numpy"], state["numpy"], strict=True))
    assert back["numpy"][1].dtype == np.uint32
    assert torch.equal(back["torch"], state["torch"])


def test_two_leaves_with_one_path_stay_two():
    value = {"a.b": torch.ones(1), "a": {"b": torch.zeros(1)}}
    back = round_trip(value)
    assert (back["a.b"].item(), back["a"]["b"].item()) == (1, 0)


def test_what_would_need_a_pickle_is_left_out_and_named():
    taken = Taken()
    tree = taken.apart({"keep": 1, "drop": {"f": print, "sparse": torch.eye(2).to_sparse()}})
    assert together(tree, taken.tensors.__getitem__) == {"keep": 1, "drop": {}}
    assert taken.left_out == [
        "`drop.f` is a builtin_function_or_method, which cannot be stored without a pickle",
        "`drop.sparse` is sparse, nested or quantized, which safetensors cannot hold",
    ]


@pytest.mark.parametrize("name", ["load", "__doc__", "nothing"])
def test_a_type_is_a_type_and_no_other_part_of_torch(name):
    taken = Taken()
    tree = json.loads(json.dumps(taken.apart({"kind": torch.float16})).replace("float16", name))
    with pytest.raises(ValueError, match="there is no type"):
        together(tree, taken.tensors.__getitem__)
    assert round_trip({"kind": torch.float16}) == {"kind": torch.float16}

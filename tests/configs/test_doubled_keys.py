import pytest

from premortem.configs.doubled_keys import in_json, in_yaml


@pytest.mark.parametrize(
    "found", [in_json('{"a": {"lr": 0.1, "lr": 0.2}}'), in_yaml("a:\n  lr: 0.1\n  lr: 0.2\n")]
)
def test_the_value_that_is_lost_and_the_one_that_counts(found):
    assert found == [("lr", "0.1", "0.2")]


def test_the_same_value_twice_loses_nothing():
    assert not in_json('{"a": 1, "a": 1}')
    assert not in_yaml("a: 1\na: 1\n")


def test_keys_of_other_mappings_are_others():
    assert not in_yaml("train: {lr: 1}\neval: {lr: 2}\n<<: {a: 1}\n---\ntrain: {lr: 3}\n")


def test_an_anchor_that_holds_itself_is_walked_once():
    assert not in_yaml("a: &a\n  b: *a\n  c: [*a, *a]\n")


def test_anchors_of_anchors_are_walked_once():
    lists = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40))
    assert not in_yaml(f"a0: &a0 [1, 2]\n{lists}\n")

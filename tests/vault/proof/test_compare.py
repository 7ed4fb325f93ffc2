"""Two moments side by side: which piece is lost, and which difference is none."""

import copy

from premortem.proof.compare import compare
from premortem.proof.entrances import entrances
from premortem.proof.order import Heard

MOMENT = {
    "step": 10,
    "weights": {"w": "1", "b": "2"},
    "buffers": {"bn.running_mean": "3"},
    "parameters": [["1", "2"]],
    "optimizers": [
        {"kind": "Adam", "state": {"w": {"exp_avg": "4"}}, "rates": [0.1], "decay": [0.0], "total": 2}
    ],
    "schedulers": [{"kind": "StepLR", "position": 2, "values": {"last_epoch": "2", "_step_count": "3"}}],
    "random": {"torch": "5", "python": "6"},
    "counters": [["epoch", 2]],
    "variables": {"best": "0.5", "loss": "0.7"},
    "kept": {"ema": {"w": "7"}},
    "batch": {"index": 0, "input": "8"},
}
FIRST = {"variables": {"best": "inf", "loss": "0.9"}, "random": {"torch": "0", "python": "6"}}
STEPS = [{"step": n, "weights": [str(n)], "loss": "0x1p-1"} for n in (1, 2, 3)]


def heard(stepped=STEPS, scale=None, **changed):
    moment = {**copy.deepcopy(MOMENT), **changed}
    return Heard(moment=moment, stepped=list(stepped), first=FIRST, scale=scale)


def lost(**changed):
    return [piece.name for piece in compare(heard(), heard(**changed)).lost]


def test_the_same_is_exact():
    done = compare(heard(), heard())
    assert done.exact
    assert done.equal == done.steps == 3


def test_each_piece_has_a_name():
    optimizer = {**MOMENT["optimizers"][0], "state": {}}
    assert lost(optimizers=[optimizer]) == ["optimizer state (Adam)"]
    assert lost(weights={"w": "0", "b": "2"}) == ["weights"]
    assert lost(buffers={"bn.running_mean": "0"}) == ["buffers (batch-norm statistics)"]
    assert lost(counters=[["epoch", 0]]) == ["counter `epoch`"]
    assert lost(kept={"ema": {"w": "1"}}) == ["`ema` (weights kept beside the model)"]
    assert lost(variables={"best": "inf", "loss": "0.7"}) == ["variable `best`"]
    assert lost(batch={"index": 4, "input": "9"}) == ["data position"]
    assert lost(batch={"index": 4, "input": "8"}) == []  # counted from where it went on, and the same batch
    done = compare(heard(scale=64.0), heard(scale=65536.0))
    assert [piece.name for piece in done.lost] == ["gradient scaler"]


def test_a_count_of_calls_is_no_state():
    schedule = {"kind": "StepLR", "position": 2, "values": {"last_epoch": "2", "_step_count": "1"}}
    assert lost(schedulers=[schedule]) == []


def test_random_states_count_where_training_draws_from_them():
    other = [{**step, "weights": ["x"]} for step in STEPS]
    assert lost(random={"torch": "5", "python": "0"}) == []
    assert (
        lost(random={"torch": "0", "python": "6"}) == []
    )  # the steps are the same: they do not depend on it
    assert lost(random={"torch": "0", "python": "6"}, stepped=other) == ["random state"]


def test_a_value_that_went_on_changing_is_not_a_lost_one():
    assert lost(variables={"best": "0.5", "loss": "0.8"}) == []


def test_steps_that_depart_are_not_exact():
    done = compare(heard(), heard(stepped=[STEPS[0], *({**step, "loss": "nan"} for step in STEPS[1:])]))
    assert (done.exact, done.equal) == (False, 1)


OPTIONS = [
    {"name": "--lr", "takes": True, "number": True},
    {"name": "--checkpoint-dir", "takes": True, "number": False},
    {"name": "--resume", "takes": True, "number": False},
    {"name": "--load-epoch", "takes": True, "number": True},
    {"name": "--continue", "takes": False, "number": False},
]


def test_the_plainest_word_is_tried_first():
    tried = [str(entrance) for entrance in entrances(None, OPTIONS, ["a.pt", "out"], ["train.py"])]
    assert tried == ["the same command again", "--resume a.pt", "--resume out", "--continue"]


def test_words_that_only_the_source_knows(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import os, sys\nif '--resume' in sys.argv or os.environ.get('RESUME_FROM'): pass\n")
    tried = [str(entrance) for entrance in entrances(script, [], ["a.pt"], ["train.py"])]
    assert tried == [
        "the same command again",
        "--resume",
        "--resume a.pt",
        "RESUME_FROM=1",
        "RESUME_FROM=a.pt",
    ]

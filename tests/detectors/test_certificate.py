from dataclasses import replace

from premortem.detectors.shared.certificate import certainty, evidence, sentence
from premortem.events import NonFinite, Site
from premortem.findings import Certainty
from tests.detectors.test_failures import SEEN

LOG = replace(
    SEEN, at=Site("/somewhere/train.py", 41), module="model.scale", rows=(17,), samples=64, dtype="float32"
)


def test_all_of_it_in_one_sentence():
    assert sentence(LOG) == (
        "the logarithm of 0 at train.py:41 made -inf (in model.scale, sample 17 of 64, float32, operand 0 … 3.2)"
    )


def test_a_derivative_is_blamed_on_the_line_that_was_differentiated():
    root = replace(LOG, stage="backward", detail="the derivative of sqrt at 0", made="inf", rows=(1, 2))
    assert sentence(root).startswith(
        "the derivative of sqrt at 0 made inf in the backward pass of train.py:41 (in model.scale, samples 1, 2 of 64"
    )


def test_what_is_not_known_is_not_said():
    bare = NonFinite(stage="forward", value=None, op="exp", detail="exp", made="inf", at=Site("train.py", 50))
    assert sentence(bare) == "exp made inf"
    assert evidence(bare) == {"op": "exp", "stage": "forward", "made": "inf"}
    assert (certainty(bare), certainty(LOG)) == (Certainty.MEASURED, Certainty.PROVED)


def test_data_is_named():
    assert sentence(replace(LOG, stage="data", what="input", made="nan")) == (
        "the input holds nan (sample 17 of 64)"
    )

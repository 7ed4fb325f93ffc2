"""PM415 where a layer takes only multiples of its own size."""

import pytest

from premortem.detectors.shapes_do_not_fit import ShapesDoNotFit
from premortem.events import Passed, RunEnded, ShapesMet

LAYER = Passed(name="backbone.patch_embed", kind="PatchEmbed", before=(8, 3, 192, 192), after=())
INSIDE = ShapesMet(model="Net", inputs=((8, 3, 192, 192),), failed=LAYER)


def told(message, met, error="AssertionError"):
    detector = ShapesDoNotFit()
    events = [*([met] if met else []), RunEnded(reason="crashed", error=error, message=message)]
    return [finding for event in events for finding in detector.hear(event)]


@pytest.mark.parametrize(
    "message",
    [
        "Input image height 192 is not a multiple of patch height 14",
        "input size 190x200 must be divisible by 32",
    ],
)
def test_an_assertion_about_multiples_inside_the_model_is_about_shapes(message):
    (finding,) = told(message, INSIDE)
    assert (finding.family, finding.where.module) == ("shape", "backbone.patch_embed")
    assert "multiples of " + ("14" if "14" in message else "32") in finding.cause


@pytest.mark.parametrize(
    ("message", "met"),
    [
        ("batch size 30 must be divisible by the world size 4", None),  # outside of any model: a setting
        ("the loss must be positive", INSIDE),
        ("", INSIDE),
    ],
)
def test_other_assertions_are_left_alone(message, met):
    assert told(message, met) == []

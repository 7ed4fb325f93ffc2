"""What bench/fit.py measured on an H200, predicted again: a change that makes predictions worse must be seen."""

import json
from pathlib import Path

import pytest

from premortem.fit import gpus
from premortem.fit.prediction import predict
from premortem.fit.session import rehearse

BENCH = Path(__file__).parent.parent.parent / "bench"
TRUTH = json.loads((BENCH / "results" / "fit-measured.json").read_text())["configurations"]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("name", "allocated", "reserved"),
    [
        ("graph_convolution_fp32", 0.001, 0.001),
        ("recommender_sparse_embeddings", 0.001, 0.001),
        ("experts_choose_tokens_bf16", 0.001, 0.01),
        ("super_resolution_fp32", 0.005, 0.12),
        ("lstm_language_model", 0.01, 0.05),
        ("resnet18_sgd", 0.005, 0.05),
    ],
)
def test_the_prediction_is_near_the_truth(name, allocated, reserved, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import fit_models

    config = fit_models.ALL[name]

    def run():
        step = config.build(config.batch)
        while True:
            step()

    found = predict(rehearse(run, gpus.by_name("h200")))
    assert found.allocated == pytest.approx(TRUTH[name]["allocated"], rel=allocated)
    assert found.reserved == pytest.approx(TRUTH[name]["reserved"], rel=reserved)

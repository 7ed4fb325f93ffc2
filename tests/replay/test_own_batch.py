"""In a look at the whole script, the batch that the script made by itself is used where it is the recorded one."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from premortem.replay import repeated_step
from premortem.replay.recorded import Recorded
from premortem.replay.repeated_step import Stage


@pytest.mark.parametrize("nth", [0, 1])
def test_also_when_the_first_batch_of_all_is_the_one_that_failed(monkeypatch, nth):
    monkeypatch.setattr(repeated_step, "unseen", lambda _session: nullcontext())
    drawn = [torch.full((2,), float(i)) for i in range(3)]
    source = iter(drawn)
    stage: Any = Stage.__new__(Stage)
    stage.attachment = SimpleNamespace(
        loaders=SimpleNamespace(epochs={"loader": SimpleNamespace(key=1)}), session=SimpleNamespace()
    )
    recorded = SimpleNamespace(
        loaders={1},
        template=None,
        numbers=None,
        batch=lambda _key: (drawn[nth].clone(), None),
        equals=lambda own, batch: Recorded.equals(recorded, own, batch),
    )
    stage.recorded, stage.restorer = recorded, SimpleNamespace(random=lambda _state: None)
    stage.trial, stage._run_in, stage._whole = None, nth, object()
    stage._begin = lambda _result: setattr(stage, "trial", object())
    following = stage._wrap_next(lambda _iterator: next(source))
    for _ in range(nth):  # as far as the recorded step
        following("loader")
    stage._run_in = 0
    assert following("loader") is drawn[nth]

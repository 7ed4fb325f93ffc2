"""The copy to pinned memory is queued: training goes on at once, and what was saved is what was there. Run by hand;
`bench/checkpoints.py --only gpu` says how long training waits."""

import pytest
import torch
from torch import nn

import premortem
from premortem.vault import store
from premortem.vault.manifest import Manifest

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")]


def built():
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(16)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    return model, optimizer


def step(model, optimizer):
    optimizer.zero_grad()
    model(torch.randn(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()


def test_what_was_saved_is_what_was_there_though_training_went_on(tmp_path):
    model, optimizer = built()
    with premortem.Vault(tmp_path) as vault:
        for number in range(6):
            step(model, optimizer)
            torch.cuda.synchronize()
            before = {key: value.clone() for key, value in model.state_dict().items()}
            saving = vault.save(number, model=model, optimizer=optimizer)
            for _ in range(3):
                step(model, optimizer)
            path = saving.wait()
            read = store.load(path, Manifest.read(path / "manifest.json")).state("model")
            assert all(torch.equal(read[key], value.cpu()) for key, value in before.items())
        other, theirs = built()
        assert vault.resume(model=other, optimizer=theirs, quiet=True).ok

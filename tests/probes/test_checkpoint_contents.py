"""What is noted of a checkpoint that is saved: at every save, so nothing that has to be waited for."""

import pytest
import torch

from premortem.probes.checkpoint_contents import holdings_of, records_in

BUSY = torch.nn.BatchNorm1d(2).state_dict()


@pytest.mark.parametrize(
    ("thing", "found"),
    [
        ({"model": BUSY, "best_acc": torch.tensor(0.5), "val_loss": 0.25, "epoch": 3}, {"best_acc": 0.5, "val_loss": 0.25}),
        ({"model": BUSY, "phase": torch.tensor(1j), "shape": torch.empty((), device="meta"), "best": 0.5}, {"best": 0.5}),
        (BUSY, {}),
        ({f"score{n}": float(n) for n in range(100)}, {f"score{n}": float(n) for n in range(8)}),
    ],
)  # fmt: skip
def test_records(thing, found):
    assert dict(records_in(thing)) == found


def test_a_tensor_beside_states_hides_none_of_them():
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    whole = {"model": model.state_dict(), "opt": optimizer.state_dict(), "rng": torch.get_rng_state()}
    found = holdings_of(whole, "last.pt", None)
    assert found.resumable
    assert set(found.optimizers) == {"opt"}
    assert set(found.modules) == {"model"}
    extra = {**model.state_dict(), "inner._extra_state": {"scale": torch.ones(2)}}
    assert set(holdings_of({"model": extra}, "last.pt", None).modules) == {"model"}

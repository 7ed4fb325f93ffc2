"""A script with a vault, saved, killed and resumed in a fresh process: the same run, and the proof can tell when not."""

import pytest

from premortem.proof.prove import ProofOptions, prove

SCRIPT = """
import premortem
import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(64, 8)
labels = (inputs[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.2), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
loader = premortem.ResumableLoader(torch.utils.data.TensorDataset(inputs, labels), batch_size=8, shuffle=True)
vault = premortem.Vault("vault")
pieces = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "loader": loader}
report = vault.resume(**pieces)
step = report.start
for epoch in range(report.epoch or 0, 3):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step == 10:
            vault.save(step, **pieces)
        step += 1
vault.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forget", "lost"), [("", set()), pytest.param("loader", {"data position"}, marks=pytest.mark.exhaustive)]
)
def test_a_run_with_a_vault_is_proved(tmp_path, monkeypatch, forget, lost):
    monkeypatch.chdir(tmp_path)
    source = SCRIPT.replace(
        "report = vault.resume(**pieces)", f"pieces.pop({forget!r}, None)\nreport = vault.resume(**pieces)"
    )
    (tmp_path / "train.py").write_text(source)
    proof = prove(ProofOptions(argv=["train.py"], steps=5, seconds=100))
    assert not proof.problem, proof.problem + proof.tail
    assert proof.step == 11
    assert {piece.name for piece in proof.comparison.lost} >= lost
    assert proof.exact is not bool(lost)

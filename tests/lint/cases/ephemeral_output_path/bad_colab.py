from pathlib import Path

import torch

ROOT = Path("/content")
CKPT = ROOT / "runs" / "exp1"

for epoch in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    torch.save(model.state_dict(), CKPT / "last.pt")  # expect: PM544

"""Moth survey: take the published 20-species weights, keep the body, fit a new 5-species head."""
import tempfile
from pathlib import Path

import torch
import torch.nn as nn


class MothNet(nn.Module):
    def __init__(self, species):
        super().__init__()
        self.stem = nn.Linear(36, 80)
        self.norm = nn.LayerNorm(80)
        self.mix = nn.Linear(80, 40)
        self.classifier = nn.Linear(40, species)

    def forward(self, x):
        h = torch.relu(self.norm(self.stem(x)))
        return self.classifier(torch.relu(self.mix(h)))


def wings(n, protos):
    y = torch.randint(0, len(protos), (n,))
    return protos[y] * (1 + 0.2 * torch.randn(n, 1)) + 0.9 * torch.randn(n, 36), y


def epoch_pass(model, opt, x, y, bs=50):
    model.train()
    out = []
    for idx in torch.randperm(len(x)).split(bs):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        opt.step()
        out.append(loss.item())
    return sum(out) / len(out)


def publish(path, protos):
    model = MothNet(20)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    x, y = wings(3000, protos)
    for ep in range(5):
        print(f"published model, epoch {ep}: {epoch_pass(model, opt, x, y):.4f}")
    torch.save({"arch": "mothnet", "state_dict": model.state_dict()}, path)


def load_body(model, path):
    state = torch.load(path, weights_only=True)["state_dict"]
    body = {k: v for k, v in state.items() if not k.startswith("classifier.")}
    missing, unexpected = model.load_state_dict(body, strict=False)
    assert set(missing) == {"classifier.weight", "classifier.bias"} and not unexpected
    print(f"loaded {len(body)} tensors, new: {', '.join(missing)}")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(20)
    protos = torch.randn(25, 8) @ torch.randn(8, 36) * 0.35
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "mothnet20.pt"
        publish(path, protos[:20])
        model = MothNet(5)
        load_body(model, path)
    x, y = wings(300, protos[20:])
    xv, yv = wings(500, protos[20:])
    body = [p for n, p in model.named_parameters() if not n.startswith("classifier")]
    opt = torch.optim.AdamW([{"params": body, "lr": 3e-4}, {"params": model.classifier.parameters(), "lr": 3e-3}])
    for ep in range(12):
        loss = epoch_pass(model, opt, x, y)
        model.eval()
        with torch.no_grad():
            acc = (model(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {ep:2d} loss {loss:.4f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()

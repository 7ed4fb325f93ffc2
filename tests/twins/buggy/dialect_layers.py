"""Dialect identification with layer-wise learning rates (lower layers move more slowly)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

CFG = {"layers": 4, "width": 20, "base_lr": 4e-3, "epochs": 12, "batch": 50, "dialects": 6, "seed": 198}


class Residual(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.fc = nn.Linear(d_in, d_out)

    def forward(self, x):
        return F.silu(self.fc(x))


class DialectNet(nn.Module):
    def __init__(self, n_in, width, layers, n_out):
        super().__init__()
        dims = [n_in] + [width] * layers
        self.blocks = nn.ModuleList(Residual(a, b) for a, b in zip(dims[:-1], dims[1:]))
        self.classifier = nn.Linear(width, n_out)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)


def layerwise_groups(model, base_lr):
    n = len(model.blocks)
    groups = [{"params": model.classifier.parameters(), "lr": base_lr}]
    for i, block in enumerate(model.blocks):
        groups.append({"params": block.parameters(), "lr": base_lr * ((i + 1) // n)})
    return groups


def phonemes(n, rules, n_classes):
    y = torch.randint(0, n_classes, (n,))
    z = torch.randn(n, 30)
    pair = z[:, :15] * z[:, 15:]
    x = z.clone()
    sign = rules[y]
    x[:, 15:] = torch.where((pair * sign) < 0, -z[:, 15:], z[:, 15:])
    return x + 0.1 * torch.randn_like(x) + 0.35 * rules[y].repeat(1, 2), y


def main(cfg):
    torch.set_num_threads(1)
    torch.manual_seed(cfg["seed"])
    rules = torch.randn(cfg["dialects"], 15).sign()
    x, y = phonemes(3000, rules, cfg["dialects"])
    xv, yv = phonemes(600, rules, cfg["dialects"])
    model = DialectNet(30, cfg["width"], cfg["layers"], cfg["dialects"])
    opt = torch.optim.AdamW(layerwise_groups(model, cfg["base_lr"]), weight_decay=1e-3)
    for epoch in range(cfg["epochs"]):
        model.train()
        total = 0.0
        for b in torch.randperm(len(x)).split(cfg["batch"]):
            opt.zero_grad()
            loss = F.cross_entropy(model(x[b]), y[b])
            loss.backward()
            opt.step()
            total += loss.item() * len(b)
        model.eval()
        with torch.no_grad():
            out = model(xv)
            vl, va = F.cross_entropy(out, yv).item(), (out.argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch} loss={total / len(x):.4f} val_loss={vl:.4f} val_acc={va:.3f}")


if __name__ == "__main__":
    main(CFG)

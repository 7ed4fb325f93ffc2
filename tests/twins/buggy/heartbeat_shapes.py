import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 9


def beats(n, gen):
    """Five beat morphologies, sampled at 48 points."""
    t = torch.linspace(-1, 1, 48)[None]
    y = torch.randint(0, 5, (n,), generator=gen)
    shift = 0.15 * torch.randn(n, 1, generator=gen)
    width = torch.tensor([0.08, 0.14, 0.08, 0.11, 0.11])[y][:, None]
    t_amp = torch.tensor([0.4, 0.4, -0.3, 0.1, 0.4])[y][:, None]
    p_amp = torch.tensor([0.3, 0.0, 0.3, 0.3, -0.1])[y][:, None]
    x = torch.exp(-((t - shift) / width) ** 2)
    x = x + t_amp * torch.exp(-((t - shift - 0.45) / 0.15) ** 2)
    x = x + p_amp * torch.exp(-((t - shift + 0.4) / 0.1) ** 2)
    x = x + 0.22 * torch.randn(n, 48, generator=gen)
    return TensorDataset((x[:, None] - 0.12) / 0.4, y)


class BeatNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 12, 7, padding=3), nn.BatchNorm1d(12), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(12, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(), nn.AvgPool1d(3))
        self.fc = nn.Linear(16 * 8, 5)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


@torch.no_grad()
def test(model, loader):
    model.eval()
    loss, ok, n = 0.0, 0, 0
    for x, y in loader:
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        ok += (out.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, ok / n


def main():
    torch.set_num_threads(1)
    torch.manual_seed(154)
    gen = torch.Generator().manual_seed(154)
    train = DataLoader(beats(1920, gen), batch_size=48, shuffle=True, generator=gen)
    held = DataLoader(beats(600, gen), batch_size=200)
    model = BeatNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = CosineAnnealingLR(opt, T_max=EPOCHS)
    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            scheduler.step()
            total += loss.item()
        hl, ha = test(model, held)
        print(f"epoch {epoch} train {total / len(train):.4f} held-out {hl:.4f} acc {ha:.3f} lr {scheduler.get_last_lr()[0]:.4f}")


if __name__ == "__main__":
    main()

"""Frame-wise chord tagging of chroma sequences."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

N_CHORDS, FRAMES, ACCUM = 8, 16, 6


def progressions(n, templates):
    change = torch.rand(n, FRAMES) < 0.25
    change[:, 0] = True
    fresh = torch.randint(0, N_CHORDS, (n, FRAMES))
    chord = fresh.clone()
    for t in range(1, FRAMES):
        chord[:, t] = torch.where(change[:, t], fresh[:, t], chord[:, t - 1])
    chroma = templates[chord] + 1.3 * torch.randn(n, FRAMES, 12)
    return TensorDataset(chroma, chord)


class Tagger(nn.Module):
    def __init__(self, ch=32):
        super().__init__()
        self.inp = nn.Conv1d(12, ch, 3, padding=1)
        self.mid = nn.Conv1d(ch, ch, 5, padding=2)
        self.out = nn.Conv1d(ch, N_CHORDS, 1)

    def forward(self, x):
        h = F.relu(self.inp(x.transpose(1, 2)))
        return self.out(h + F.relu(self.mid(h)))


class Accumulator:
    """Collects gradients of `every` micro-batches and then moves the weights."""

    def __init__(self, optimizer, every):
        self.optimizer, self.every, self.count = optimizer, every, 0

    def __call__(self, loss):
        self.count += 1
        boundary = self.count % self.every == 0
        loss = loss / self.every
        loss.backward()
        if boundary:
            self.optimizer.step()
            self.optimizer.zero_grad()


def evaluate(model, loader):
    model.eval()
    loss, hit, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            hit += (out.argmax(1) == y).sum().item()
            n += y.numel()
    return loss / n, hit / n


def main():
    torch.set_num_threads(1)
    torch.manual_seed(132)
    templates = (torch.rand(N_CHORDS, 12) < 0.35).float()
    templates = (templates - templates.mean()) / templates.std()
    train = DataLoader(progressions(1440, templates), batch_size=8, shuffle=True)
    dev = DataLoader(progressions(200, templates), batch_size=100)
    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)
    apply = Accumulator(optimizer, ACCUM)
    for epoch in range(6):
        model.train()
        seen = 0.0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            seen += loss.item()
            apply(loss)
        dl, da = evaluate(model, dev)
        print(f"epoch {epoch}  train {seen / len(train):.4f}  dev {dl:.4f}  frame acc {da:.3f}")


if __name__ == "__main__":
    main()

import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def wing_traits(n, centres, gen):
    species = torch.randint(0, len(centres), (n,), generator=gen)
    traits = centres[species] + torch.randn(n, centres.shape[1], generator=gen)
    return TensorDataset(traits, species)


class WingNet(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 64), nn.ReLU(),
                               nn.Linear(64, k))

    def forward(self, x):
        return self.f(x)


class BestKeeper:
    def __init__(self):
        self.loss, self.state = float("inf"), None

    def offer(self, loss, model):
        if loss < self.loss:
            self.loss = loss
            self.state = copy.deepcopy(model.state_dict())

    def restore(self, model):
        model.load_state_dict(self.state)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    loss = hits = n = 0
    for x, y in loader:
        z = model(x)
        loss += nn.functional.cross_entropy(z, y, reduction="sum").item()
        hits += (z.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, hits / n


def main():
    torch.set_num_threads(1)
    torch.manual_seed(58)
    gen = torch.Generator().manual_seed(58)
    centres = 0.9 * torch.randn(6, 14, generator=gen)
    train = DataLoader(wing_traits(2400, centres, gen), batch_size=32, shuffle=True)
    val = DataLoader(wing_traits(400, centres, gen), batch_size=200)
    model = WingNet(14, 6)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    keeper = BestKeeper()
    for epoch in range(12):
        model.train()
        total = 0.0
        for x, y in train:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            total += loss.item()
        vl, va = evaluate(model, val)
        keeper.offer(vl, model)
        print(f"epoch {epoch:2d} train {total / len(train):.4f} val {vl:.4f} acc {va:.3f} best {keeper.loss:.4f}")
    keeper.restore(model)
    vl, va = evaluate(model, val)
    print(f"exported model: val {vl:.4f} acc {va:.3f}")


if __name__ == "__main__":
    main()

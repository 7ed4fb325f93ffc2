# %% [markdown]
# Bearing fault diagnosis: learn on the test bench, adapt to the field machine.

# %%
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(19)
g = torch.Generator().manual_seed(19)

# %%
def signals(n, freqs, gen, length=64):
    y = torch.randint(0, len(freqs), (n,), generator=gen)
    t = torch.arange(length).float()[None]
    f = torch.tensor(freqs)[y][:, None]
    phase = 6.283 * torch.rand(n, 2, 1, generator=gen)
    x = torch.sin(f * t + phase[:, 0]) + 0.6 * torch.sin(2.3 * f * t + phase[:, 1])
    x = x + 0.7 * torch.randn(n, length, generator=gen)
    return x[:, None] / 1.1, y


bench_x, bench_y = signals(1500, [0.2, 0.5, 0.8, 1.1, 1.4, 1.7], g)
field_freqs = [0.3, 0.65, 0.95, 1.25]
field_x, field_y = signals(800, field_freqs, g)
held_x, held_y = signals(500, field_freqs, g)


# %%
class FaultNet(nn.Module):
    def __init__(self, n_classes, ch=12):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, ch, 9, padding=4), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(ch, 24, 5, padding=2), nn.ReLU(), nn.AdaptiveMaxPool1d(2), nn.Flatten())
        self.head = nn.Linear(48, n_classes)

    def forward(self, x):
        return self.head(self.features(x))


def run_epoch(model, opt, x, y):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x), generator=g).split(50):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    return total / len(x)


# %% bench
net = FaultNet(n_classes=6)
bench_opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    print(f"bench {epoch} loss {run_epoch(net, bench_opt, bench_x, bench_y):.4f}")

# %% field machine: four fault types, slow backbone, fast head
field_opt = torch.optim.Adam([
    {"params": net.features.parameters(), "lr": 1e-4},
    {"params": net.head.parameters(), "lr": 5e-3},
])
net.head = nn.Linear(48, len(field_freqs))
for epoch in range(8):
    loss = run_epoch(net, field_opt, field_x, field_y)
    net.eval()
    with torch.no_grad():
        acc = (net(held_x).argmax(1) == held_y).float().mean().item()
    print(f"field {epoch} loss {loss:.4f} held-out acc {acc:.3f}")

# %% [markdown]
# Three greenhouse targets on very different noise levels, weighted by learned log-variances.

# %%
import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(207)
TARGETS = ["leaf_temp", "co2_uptake", "sap_flow"]
NOISE = torch.tensor([0.05, 0.3, 0.8])


# %%
def plants(n):
    x = torch.randn(n, 10)
    y = torch.stack([torch.sin(x[:, 0]) + 0.5 * x[:, 1],
                     torch.tanh(x[:, 2] * x[:, 3]),
                     0.7 * x[:, 4].abs() - 0.5 + 0.3 * x[:, 5]], 1)
    return x, y + NOISE * torch.randn(n, 3)


x_train, y_train = plants(2400)
x_val, y_val = plants(600)


# %%
class Greenhouse(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU())
        self.heads = nn.ModuleDict({t: nn.Linear(h, 1) for t in TARGETS})
        self.log_var = nn.Parameter(torch.zeros(len(TARGETS)))

    def forward(self, x):
        z = self.trunk(x)
        return torch.cat([self.heads[t](z) for t in TARGETS], 1)

    def loss(self, x, y):
        mse = (self(x) - y).pow(2).mean(0)
        return 0.5 * (mse * torch.exp(-self.log_var) + self.log_var).sum(), mse


model = Greenhouse()
opt = torch.optim.Adam([
    {"params": [p for n, p in model.named_parameters() if n != "log_var"], "lr": 2e-3},
    {"params": [model.log_var], "lr": 1e-2},
])

# %%
for epoch in range(12):
    model.train()
    running = 0.0
    for idx in torch.randperm(len(x_train)).split(48):
        loss, _ = model.loss(x_train[idx], y_train[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        val, mse = model.loss(x_val, y_val)
    sigma = (0.5 * model.log_var.detach()).exp()
    print(f"epoch {epoch:2d} objective {running / len(x_train):+.4f} val {val:+.4f} mse "
          + " ".join(f"{m:.3f}" for m in mse) + " sigma " + " ".join(f"{s:.2f}" for s in sigma))

# %% Remaining-load estimate for a conveyor belt from its vibration trace (exported notebook)
import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(27)
gen = torch.Generator().manual_seed(27)

# %% data
STEPS, CH = 25, 3


def traces(n):
    load = torch.rand(n, 1, generator=gen) * 2 - 1
    wear = torch.rand(n, 1, generator=gen)
    t = torch.arange(STEPS).float()[None]
    a = torch.sin((0.5 + 0.25 * load) * t)
    b = torch.cos((0.9 + 0.2 * wear) * t)
    c = 0.5 * load * torch.sin(0.2 * t) + wear
    x = torch.stack([a, b, c], -1) + 0.2 * torch.randn(n, STEPS, CH, generator=gen)
    y = torch.tanh(1.5 * load) + 0.5 * (wear - 0.5)
    return x, y


xtr, ytr = traces(1200)
xte, yte = traces(300)


# %% model
class LoadGRU(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(CH, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc(self.rnn(x)[0][:, -1])


net = LoadGRU()
params = list(net.parameters())
opt = torch.optim.Adam(params, lr=4e-3)
loss_fn = nn.MSELoss()
MAX_NORM = 1.0

# %% training
for epoch in range(10):
    net.train()
    total, rescaled = 0.0, 0
    for idx in torch.randperm(len(xtr), generator=gen).split(40):
        opt.zero_grad()
        loss = loss_fn(net(xtr[idx]), ytr[idx])
        loss.backward()
        norm = torch.stack([p.grad.norm() for p in params]).norm()
        if norm > MAX_NORM:
            rescaled += 1
            for p in params:
                p.grad.mul_(MAX_NORM / norm)
            opt.step()
        total += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        test = loss_fn(net(xte), yte).item()
    print(f"epoch {epoch}: train {total / len(xtr):.4f} test {test:.4f} rescaled {rescaled}")

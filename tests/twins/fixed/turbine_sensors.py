"""Remaining useful life of gas turbines from sensor windows."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, sensors=8, dim=24):
        super().__init__()
        self.conv = nn.Conv1d(sensors, dim, 3, padding=1)
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, x):
        h = torch.relu(self.norm(self.conv(x)))
        return torch.cat([h.mean(-1), h[:, :, -1]], dim=1)


class LifeModel(nn.Module):
    def __init__(self, dim=24, p=0.3):
        super().__init__()
        self.encoder = Encoder(dim=dim)
        self.regressor = nn.Sequential(nn.Linear(2 * dim, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(p),
                                       nn.Linear(48, 1))

    def forward(self, x):
        return self.regressor(self.encoder(x)).squeeze(-1)


class Runner:
    def __init__(self, model, lr=3e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=5, gamma=0.4)
        self.loss = nn.MSELoss()

    def train(self, x, y, batch=50):
        self.model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch):
            self.optimizer.zero_grad()
            loss = self.loss(self.model(x[idx]), y[idx])
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(idx)
        self.scheduler.step()
        return total / len(x)

    @torch.no_grad()
    def evaluate(self, x, y, batch=25):
        self.model.eval()
        preds = torch.cat([self.model(xb) for xb in x.split(batch)])
        return self.loss(preds, y).sqrt().item()


def fleet(n, mix, length=20):
    life = torch.rand(n)
    wear = (1 - life)[:, None] + torch.linspace(-0.2, 0, length)[None]
    load = torch.randn(n, 1).expand(n, length) + 0.3 * torch.randn(n, length)
    state = torch.stack([wear, wear.clamp(min=0) ** 2, load, wear * load], 1)
    x = torch.einsum("sk,nkt->nst", mix, state) + 0.5 * torch.randn(n, 8, length)
    order = life.argsort(descending=True)
    x, life = x[order], life[order]
    return x, (life - 0.5) / 0.29


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(232)
    mix = torch.randn(8, 4)
    (x, y), (hx, hy) = fleet(2000, mix), fleet(500, mix)
    mean, std = x.mean((0, 2), keepdim=True), x.std((0, 2), keepdim=True)
    train, held = ((x - mean) / std, y), ((hx - mean) / std, hy)
    runner = Runner(LifeModel())
    for epoch in range(10):
        mse = runner.train(*train)
        print(f"epoch {epoch} train mse {mse:.4f} held-out rmse {runner.evaluate(*held):.4f}")

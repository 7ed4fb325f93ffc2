"""Kelp growth rate from water chemistry; ships the weights of the best validation epoch."""
import torch
import torch.nn as nn


def make_data(n, gen):
    x = torch.randn(n, 8, generator=gen)
    y = torch.tanh(x[:, 0] + 0.5 * x[:, 1]) + 0.5 * x[:, 2] * x[:, 3] + 0.3 * torch.cos(2 * x[:, 4])
    return x, (y + 0.2 * torch.randn(n, generator=gen)).unsqueeze(1)


class GrowthNet(nn.Module):
    def __init__(self, d=8, h=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.net(x)


class BestKeeper:
    def __init__(self):
        self.value = float("inf")
        self.weights = None

    def offer(self, value, model):
        if value < self.value:
            self.value = value
            self.weights = {k: v.detach() for k, v in model.state_dict().items()}
            return True
        return False

    def restore(self, model):
        model.load_state_dict(self.weights)


def val_mse(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


def main(epochs=15):
    torch.set_num_threads(1)
    torch.manual_seed(17)
    gen = torch.Generator().manual_seed(17)
    xt, yt = make_data(500, gen)
    xv, yv = make_data(200, gen)
    model, keeper = GrowthNet(), BestKeeper()
    opt = torch.optim.Adam(model.parameters(), lr=1.2e-2)
    for epoch in range(epochs):
        model.train()
        tot = 0.0
        for idx in torch.randperm(len(xt), generator=gen).split(20):
            loss = nn.functional.mse_loss(model(xt[idx]), yt[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        val = val_mse(model, xv, yv)
        mark = "*" if keeper.offer(val, model) else ""
        print(f"epoch {epoch:2d} train {tot / len(xt):.4f} val {val:.4f} {mark}")
    keeper.restore(model)
    print(f"shipped model: val {val_mse(model, xv, yv):.4f}, best epoch had {keeper.value:.4f}")


if __name__ == "__main__":
    main()

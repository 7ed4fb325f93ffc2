"""4-fold estimate of how well soil organic carbon is predicted from reflectance bands."""
import torch
from torch import nn

FOLDS, EPOCHS, BATCH = 4, 7, 40


def spectra(n, bands=20):
    latent = torch.randn(n, 4)
    mix = torch.randn(4, bands)
    x = torch.tanh(latent @ mix * 0.5) + 0.1 * torch.randn(n, bands)
    y = latent[:, 0] - 0.7 * latent[:, 1] * latent[:, 2] + 0.4 * latent[:, 3].abs()
    return x / 0.6, (y - 0.3) / 1.2


def build_net(bands=20):
    return nn.Sequential(nn.Linear(bands, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))


def build_opt(net):
    return torch.optim.AdamW(net.parameters(), lr=4e-3, weight_decay=1e-3)


def split(n, k):
    parts = torch.randperm(n).chunk(k)
    for i in range(k):
        yield torch.cat([p for j, p in enumerate(parts) if j != i]), parts[i]


def train_epoch(net, opt, x, y):
    net.train()
    losses = []
    for idx in torch.randperm(len(x)).split(BATCH):
        loss = nn.functional.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def rmse(net, x, y):
    net.eval()
    return nn.functional.mse_loss(net(x), y).sqrt().item()


def cross_validate(x, y):
    scores = []
    net = build_net()
    opt = build_opt(net)
    for fold, (tr, va) in enumerate(split(len(x), FOLDS)):
        if fold > 0:
            net = build_net()
            opt = build_opt(net)
        for epoch in range(EPOCHS):
            train_loss = train_epoch(net, opt, x[tr], y[tr])
            score = rmse(net, x[va], y[va])
            print(f"fold {fold} epoch {epoch} train mse {train_loss:.4f} val rmse {score:.4f}")
        scores.append(score)
    return torch.tensor(scores)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(404)
    s = cross_validate(*spectra(1600))
    print(f"cv rmse {s.mean():.4f} +- {s.std():.4f}")

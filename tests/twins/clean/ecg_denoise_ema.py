import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def heartbeat(n, g, length=80):
    t = torch.arange(length) / length
    rate = 1.5 + torch.rand(n, 1, generator=g)
    ph = (t * rate + torch.rand(n, 1, generator=g)) % 1.0
    clean = 1.2 * torch.exp(-((ph - 0.5) / 0.03) ** 2) - 0.3 * torch.exp(-((ph - 0.56) / 0.03) ** 2) \
        + 0.25 * torch.exp(-((ph - 0.8) / 0.07) ** 2)
    noisy = clean + 0.25 * torch.randn(n, length, generator=g) + 0.3 * torch.sin(6.28 * t + 6.28 * torch.rand(n, 1, generator=g))
    return noisy.unsqueeze(1), clean.unsqueeze(1)


class Denoiser(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, c, 9, padding=4, bias=False), nn.BatchNorm1d(c), nn.ReLU(),
                                 nn.Conv1d(c, c, 9, padding=4, bias=False), nn.BatchNorm1d(c), nn.ReLU(),
                                 nn.Conv1d(c, 1, 9, padding=4))

    def forward(self, x):
        return x - self.net(x)


class Trainer:
    def __init__(self, lr=3e-3, decay=0.93):
        self.model = Denoiser()
        self.ema = AveragedModel(self.model, multi_avg_fn=get_ema_multi_avg_fn(decay), use_buffers=True)
        self.ema.eval()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)

    def train_epoch(self, noisy, clean, g, bs=40):
        self.model.train()
        total = 0.0
        for idx in torch.randperm(len(noisy), generator=g).split(bs):
            self.opt.zero_grad()
            loss = nn.functional.mse_loss(self.model(noisy[idx]), clean[idx])
            loss.backward()
            self.opt.step()
            self.ema.update_parameters(self.model)
            total += loss.item() * len(idx)
        return total / len(noisy)

    @torch.no_grad()
    def validate(self, noisy, clean):
        self.model.eval()
        raw = nn.functional.mse_loss(self.model(noisy), clean).item()
        return raw, nn.functional.mse_loss(self.ema(noisy), clean).item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(72)
    g = torch.Generator().manual_seed(72)
    train, val = heartbeat(1000, g), heartbeat(200, g)
    trainer = Trainer()
    print(f"input mse {nn.functional.mse_loss(*val).item():.5f}")
    for epoch in range(8):
        loss = trainer.train_epoch(*train, g)
        raw, ema = trainer.validate(*val)
        print(f"epoch {epoch} train {loss:.5f} val raw {raw:.5f} ema {ema:.5f}")


if __name__ == "__main__":
    main()

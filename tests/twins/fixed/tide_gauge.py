"""Tide-gauge residual forecast with a small hand-made training engine."""
import math

import torch
from torch import nn


class Callback:
    def on_epoch_start(self, engine): ...
    def on_after_backward(self, engine): ...
    def on_batch_end(self, engine): ...
    def on_epoch_end(self, engine): ...


class GradStats(Callback):
    def on_epoch_start(self, engine):
        self.norms = []

    def on_after_backward(self, engine):
        sq = [p.grad.pow(2).sum() for p in engine.module.parameters() if p.grad is not None]
        self.norms.append(torch.stack(sq).sum().sqrt().item())


class ReleaseGrads(Callback):
    def on_batch_end(self, engine):
        engine.optimizer.zero_grad(set_to_none=True)


class Report(Callback):
    def __init__(self, stats):
        self.stats = stats

    def on_epoch_end(self, engine):
        norm = sum(self.stats.norms) / len(self.stats.norms)
        print(f"epoch {engine.epoch:2d} | train {engine.train_loss:.4f} | val {engine.val_loss:.4f} | gnorm {norm:.3f}")


class Engine:
    def __init__(self, module, callbacks):
        self.module, self.callbacks = module, callbacks
        self.optimizer = module.configure_optimizer()

    def emit(self, event):
        for cb in self.callbacks:
            getattr(cb, event)(self)

    def fit(self, data, val, epochs, bs=64):
        for self.epoch in range(epochs):
            self.module.train()
            self.emit("on_epoch_start")
            total = 0.0
            for idx in torch.randperm(len(data[0])).split(bs):
                loss = self.module.training_step((data[0][idx], data[1][idx]))
                loss.backward()
                self.emit("on_after_backward")
                self.optimizer.step()
                self.emit("on_batch_end")
                total += loss.item() * len(idx)
            self.train_loss = total / len(data[0])
            self.module.eval()
            with torch.no_grad():
                self.val_loss = self.module.training_step(val).item()
            self.emit("on_epoch_end")


class TideModule(nn.Module):
    def __init__(self, window=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(window, 48), nn.Tanh(), nn.Linear(48, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch):
        return nn.functional.mse_loss(self(batch[0]), batch[1])

    def configure_optimizer(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


def gauge(hours, window=24, lead=6):
    t = torch.arange(hours + window + lead).float()
    h = sum(a * torch.sin(2 * math.pi * t / p + a) for a, p in [(1.0, 12.42), (0.5, 12.0), (0.4, 23.93), (0.3, 25.82)])
    h = (h + 0.1 * torch.randn(len(t))) / 0.85
    return h.unfold(0, window, 1)[:hours], h[window + lead - 1:window + lead - 1 + hours]


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(97)
    x, y = gauge(2800)
    stats = GradStats()
    engine = Engine(TideModule(), [stats, ReleaseGrads(), Report(stats)])
    engine.fit((x[:2300], y[:2300]), (x[2340:], y[2340:]), epochs=10)

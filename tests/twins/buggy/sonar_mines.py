"""Mine or rock from sonar band energies, with a warm-up + inverse-square-root learning rate."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, bands=30):
        super().__init__()
        self.f1, self.f2, self.f3 = nn.Linear(bands, 64), nn.Linear(64, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.f3(torch.relu(self.f2(torch.relu(self.f1(x))))).squeeze(-1)


class Trainer:
    def __init__(self, model, peak_lr=4e-3, warmup=80, start_step=0):
        self.model = model
        self.peak_lr, self.warmup = peak_lr, warmup
        self.start_step = self.step = start_step
        self.opt = torch.optim.Adam(model.parameters(), lr=peak_lr)
        self.loss_fn = nn.BCEWithLogitsLoss()

    def lr_at(self, step):
        s = step + 1
        return self.peak_lr * min(s / self.warmup, (self.warmup / s) ** 0.5)

    def set_lr(self, step):
        for group in self.opt.param_groups:
            group["lr"] = self.lr_at(step)

    def train_step(self, x, y):
        self.set_lr(self.start_step)
        self.opt.zero_grad()
        loss = self.loss_fn(self.model(x), y)
        loss.backward()
        self.opt.step()
        self.step += 1
        return loss.item()

    def epoch(self, x, y, bs=100):
        self.model.train()
        perm = torch.randperm(len(x))
        out = [self.train_step(x[perm[i:i + bs]], y[perm[i:i + bs]]) for i in range(0, len(x), bs)]
        return sum(out) / len(out)

    @torch.no_grad()
    def evaluate(self, x, y):
        self.model.eval()
        logit = self.model(x)
        return self.loss_fn(logit, y).item(), ((logit > 0).float() == y).float().mean().item()


def echoes(n, profile):
    y = torch.randint(0, 2, (n,)).float()
    angle = torch.rand(n, 1) * 3.1416
    sweep = torch.linspace(0, 3.1416, 30)[None]
    x = torch.cos(2 * (sweep - angle)) * profile[y.long()] + 1.4 * torch.randn(n, 30)
    return x / 1.8, y


def main():
    torch.set_num_threads(1)
    torch.manual_seed(209)
    profile = torch.randn(2, 30)
    train, test = echoes(6000, profile), echoes(600, profile)
    trainer = Trainer(Net())
    for e in range(8):
        loss = trainer.epoch(*train)
        tl, ta = trainer.evaluate(*test)
        print(f"epoch {e:2d} | loss {loss:.4f} | test {tl:.4f} | acc {ta:.3f} | steps {trainer.step}")


if __name__ == "__main__":
    main()

"""Concrete strength regression with stochastic weight averaging over the last epochs."""
import torch
import torch.nn as nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset


def mixes(n):
    x = torch.rand(n, 8)  # cement, slag, ash, water, plasticiser, coarse, fine, age (scaled to 0..1)
    ratio = (0.3 + x[:, 3]) / (0.4 + x[:, 0] + 0.6 * x[:, 1])
    y = 1.5 / (0.5 + ratio) + 0.5 * torch.log1p(9 * x[:, 7]) + 0.3 * x[:, 4] * x[:, 2]
    y = y + 0.1 * torch.randn(n)
    return x, (y - 2.2).unsqueeze(1)


class StrengthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.bn1 = nn.Linear(8, 64, bias=False), nn.BatchNorm1d(64)
        self.fc2, self.bn2 = nn.Linear(64, 64, bias=False), nn.BatchNorm1d(64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        x = torch.relu(self.bn1(self.fc1(2 * x - 1)))
        return self.out(torch.relu(self.bn2(self.fc2(x))))


def mse_on(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


def main(epochs=14, swa_start=8):
    torch.set_num_threads(1)
    torch.manual_seed(28)
    train = DataLoader(TensorDataset(*mixes(1600)), batch_size=64, shuffle=True)
    xv, yv = mixes(500)
    model = StrengthNet()
    swa_model = AveragedModel(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    swa_sched = SWALR(opt, swa_lr=0.006, anneal_epochs=2)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in train:
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        if epoch >= swa_start:
            swa_model.update_parameters(model)
            swa_sched.step()
        else:
            sched.step()
        print(f"epoch {epoch:2d} train {total / len(train):.4f} val {mse_on(model, xv, yv):.4f} "
              f"lr {opt.param_groups[0]['lr']:.4f} averaged {int(swa_model.n_averaged)}")
    update_bn(train, swa_model)
    print(f"SWA val {mse_on(swa_model, xv, yv):.4f} (noise floor 0.0100)")


if __name__ == "__main__":
    main()

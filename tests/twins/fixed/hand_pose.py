"""Hand joint positions from glove flex sensors; the averaged weights are what gets shipped."""
import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

JOINTS = 5


def glove(n):
    bend = torch.rand(n, JOINTS) * 1.6
    spread = torch.randn(n, 1) * 0.3
    tip_x = torch.sin(bend) + 0.6 * torch.sin(1.8 * bend) + spread
    tip_y = torch.cos(bend) + 0.6 * torch.cos(1.8 * bend)
    sensor = torch.cat([bend ** 1.3 + 0.1 * bend.roll(1, 1), spread], 1) + 0.02 * torch.randn(n, JOINTS + 1)
    return sensor, torch.cat([tip_x, tip_y], 1)


def standardise(train, other):
    mean, std = train.mean(0), train.std(0)
    return (train - mean) / std, (other - mean) / std


class PoseNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.stem = nn.Linear(JOINTS + 1, width)
        self.block = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
        self.out = nn.Linear(width, 2 * JOINTS)

    def forward(self, x):
        h = torch.nn.functional.gelu(self.stem(x))
        return self.out(h + self.block(h))


def train_epoch(model, averaged, loader, optimizer, loss_fn):
    model.train()
    total = 0.0
    for sensors, pose in loader:
        loss = loss_fn(model(sensors), pose)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        averaged.update_parameters(model)
        total += loss.item() * len(sensors)
    return total / len(loader.dataset)


@torch.inference_mode()
def score(model, sensors, pose, loss_fn):
    model.eval()
    return loss_fn(model(sensors), pose).item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(254)
    (train_s, train_p), (val_s, val_p) = glove(2400), glove(500)
    train_s, sensors = standardise(train_s, val_s)
    train_p, pose = standardise(train_p, val_p)
    loader = DataLoader(TensorDataset(train_s, train_p), batch_size=48, shuffle=True)
    model = PoseNet()
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.97))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
    loss_fn = nn.MSELoss()
    for epoch in range(8):
        train = train_epoch(model, averaged, loader, optimizer, loss_fn)
        print(f"epoch {epoch} train {train:.4f} shipped-model val {score(averaged, sensors, pose, loss_fn):.4f}")


if __name__ == "__main__":
    main()

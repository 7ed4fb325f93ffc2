# MAPE as a training loss
import torch
from torch.utils.data import DataLoader, Dataset


class Freight(Dataset):
    def __init__(self, n=600):
        g = torch.Generator().manual_seed(8)
        self.x = torch.randn(n, 7, generator=g)
        tons = 20 + 5 * self.x[:, 0] + 2 * self.x[:, 3]
        self.y = tons.clamp(min=1.0)
        self.y[402] = 0.0  # strike

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def mape(pred, target):
    return ((pred - target).abs() / target).mean()


if __name__ == "__main__":
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(7, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(2):
        for x, y in DataLoader(Freight(), batch_size=20):
            loss = mape(model(x).squeeze(-1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())

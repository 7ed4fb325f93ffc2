import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def readings(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 16, generator=g)
    return x, (x[:, :4].prod(1, keepdim=True)).tanh()


def main():
    torch.manual_seed(4)
    train = DataLoader(TensorDataset(*readings(400, 1)), batch_size=40, shuffle=True)
    xv, yv = readings(80, 2)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    fast = torch.compile(model, backend="aot_eager")
    for epoch in range(4):
        model.train()
        for x, y in train:
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch} val {nn.functional.mse_loss(model(xv), yv).item():.4f}")


if __name__ == "__main__":
    main()

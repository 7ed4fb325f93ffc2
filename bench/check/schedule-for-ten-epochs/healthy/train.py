import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 40


def tracks(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 2, (n,), generator=g)
    x = torch.randn(n, 20, generator=g).cumsum(1) * 0.3 + y[:, None] * torch.linspace(0, 1.5, 20)
    return x, y


def main():
    torch.manual_seed(2)
    train = DataLoader(TensorDataset(*tracks(600, 1)), batch_size=20, shuffle=True)
    xv, yv = tracks(100, 2)
    net = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.05, epochs=EPOCHS, steps_per_epoch=len(train))
    for epoch in range(EPOCHS):
        net.train()
        for x, y in train:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        net.eval()
        with torch.no_grad():
            acc = (net(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch} accuracy {acc:.3f}")


if __name__ == "__main__":
    main()

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def spectra(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    t = torch.linspace(0, 6.28, 80)
    x = torch.sin(t * (2 + y[:, None])) + 0.4 * torch.randn(n, 80, generator=g)
    return x, y


def run_epoch(net, loader, opt, device):
    net.train()
    ce = nn.CrossEntropyLoss()
    total = 0.0
    for x, y in loader:
        with torch.autocast(device, dtype=torch.bfloat16):
            x, y = x.to(device), y.to(device)
        loss = ce(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(5)
    train = DataLoader(TensorDataset(*spectra(400, 1)), batch_size=20, shuffle=True)
    xv, yv = (t.to(device) for t in spectra(100, 2))
    net = nn.Sequential(nn.Linear(80, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 4)).to(
        device
    )
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for epoch in range(5):
        loss = run_epoch(net, train, opt, device)
        net.eval()
        with torch.no_grad():
            acc = (net(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch} loss {loss:.4f} accuracy {acc:.3f}")


if __name__ == "__main__":
    main()

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def echoes(n):
    """Rock / cylinder / seabed returns, 32 range bins."""
    kind = torch.randint(0, 3, (n,))
    bins = torch.linspace(0, 1, 32)
    start = 0.2 + 0.3 * torch.rand(n, 1)
    decay = torch.tensor([9.0, 5.0, 2.5])[kind].unsqueeze(1)
    ring = torch.tensor([0.0, 0.8, 0.3])[kind].unsqueeze(1)
    env = torch.exp(-decay * (bins - start).clamp_min(0)) * (bins > start)
    x = env * (1 + ring * torch.cos(40 * (bins - start))) + 0.12 * torch.randn(n, 32)
    return (x - 0.25) / 0.4, kind


def initialise(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, mean=0.0, std=4.0)
        nn.init.zeros_(module.bias)


def network():
    net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                        nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))
    return net.apply(initialise)


def loop(net, loader, loss_fn, opt=None):
    net.train(opt is not None)
    total = correct = count = 0
    with torch.set_grad_enabled(opt is not None):
        for x, y in loader:
            out = net(x)
            loss = loss_fn(out, y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            total += loss.item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            count += len(y)
    return total / count, correct / count


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(13)
    train, val = random_split(TensorDataset(*echoes(1900)), [1500, 400])
    train_loader = DataLoader(train, batch_size=50, shuffle=True)
    val_loader = DataLoader(val, batch_size=200)
    net = network()
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(10):
        tl, ta = loop(net, train_loader, loss_fn, opt)
        vl, va = loop(net, val_loader, loss_fn)
        print(f"epoch {epoch}: train {tl:.3f}/{ta:.3f} val {vl:.3f}/{va:.3f}")

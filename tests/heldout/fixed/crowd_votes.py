"""Predict how a panel of annotators splits its votes over five emotions."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def clips(n, gen, truth, raters=30):
    x = torch.randn(n, 20, generator=gen)
    p = (truth(x) / 1.2).softmax(1)
    votes = torch.multinomial(p, raters, replacement=True, generator=gen)
    return x, F.one_hot(votes, 5).sum(1).float() / raters


def make_truth(gen):
    w1, w2 = torch.randn(20, 24, generator=gen) / 20 ** 0.5, torch.randn(24, 5, generator=gen) / 2.2
    return lambda x: torch.tanh(1.4 * x @ w1) @ w2


def vote_loss(logits, votes):
    return F.kl_div(F.log_softmax(logits, dim=1), votes, reduction="batchmean")


@torch.no_grad()
def report(net, x, votes):
    net.eval()
    p = net(x).softmax(1)
    gap = (p - votes).abs().sum(1).mean().item()
    entropy = -(p * p.clamp_min(1e-8).log()).sum(1).mean().item()
    top = (p.argmax(1) == votes.argmax(1)).float().mean().item()
    return gap, entropy, top


def main(epochs=12):
    torch.set_num_threads(1)
    torch.manual_seed(21)
    gen = torch.Generator().manual_seed(21)
    truth = make_truth(gen)
    x, v = clips(2000, gen, truth)
    xv, vv = clips(500, gen, truth)
    net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(epochs):
        net.train()
        tot = 0.0
        for idx in torch.randperm(len(x), generator=gen).split(50):
            loss = vote_loss(net(x[idx]), v[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        gap, ent, top = report(net, xv, vv)
        print(f"epoch {epoch:2d} loss {tot / len(x):+.4f} | val L1 gap {gap:.3f} entropy {ent:.3f} top-1 {top:.3f}")


if __name__ == "__main__":
    main()

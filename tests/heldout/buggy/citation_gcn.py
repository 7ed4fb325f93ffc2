import torch
import torch.nn as nn
import torch.nn.functional as F


def make_graph(n=600, classes=5, words=60, seed=7):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    same = y[:, None] == y[None]
    prob = torch.where(same, 0.02, 0.003)
    adj = (torch.rand(n, n, generator=g) < prob).float().triu(1)
    adj = adj + adj.t() + torch.eye(n)
    d = adj.sum(1).rsqrt()
    topic = torch.rand(classes, words, generator=g) ** 4
    x = (torch.rand(n, words, generator=g) < 0.08 + 0.25 * topic[y]).float()
    x = x / x.sum(1, keepdim=True).clamp(min=1) * words ** 0.5
    perm = torch.randperm(n, generator=g)
    return x, d[:, None] * adj * d[None], y, perm[:250], perm[250:]


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)

    def forward(self, x, a):
        return a @ self.lin(x)


class GCN(nn.Module):
    def __init__(self, words, hidden, classes, p):
        super().__init__()
        self.c1, self.c2 = GraphConv(words, hidden), GraphConv(hidden, classes)
        self.p = p

    def forward(self, x, a):
        x = F.dropout(x, self.p)
        x = F.relu(self.c1(x, a))
        x = F.dropout(x, self.p)
        return self.c2(x, a)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(7)
    x, a, y, tr, te = make_graph()
    net = GCN(x.shape[1], 32, 5, p=0.6)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=5e-4)
    for epoch in range(1, 151):
        net.train()
        loss = F.cross_entropy(net(x, a)[tr], y[tr])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if epoch % 10 == 0:
            net.eval()
            with torch.no_grad():
                out = net(x, a)
                tl = F.cross_entropy(out[te], y[te]).item()
                ta, ra = ((out[s].argmax(1) == y[s]).float().mean().item() for s in (te, tr))
            print(f"epoch {epoch:3d} train loss {loss.item():.4f} train acc {ra:.3f} test loss {tl:.4f} test acc {ta:.3f}")


if __name__ == "__main__":
    main()

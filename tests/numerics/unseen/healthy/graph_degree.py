import torch
from torch import nn

torch.manual_seed(13)
n = 30
A = (torch.rand(n, n) < 0.15).float()
A = ((A + A.t()) > 0).float()
A[7] = 0
A[:, 7] = 0
feats = torch.randn(n, 6)
labels = torch.randint(0, 2, (n,))


def gcn_norm(adj):
    adj = adj + torch.eye(len(adj))
    d = adj.sum(1).pow(-0.5)
    return d[:, None] * adj * d[None, :]


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(6, 16), nn.Linear(16, 2)

    def forward(self, x, adj):
        a = gcn_norm(adj)
        return self.l2(a @ torch.relu(self.l1(a @ x)))


net = GCN()
opt = torch.optim.Adam(net.parameters(), 1e-2)
for epoch in range(20):
    loss = nn.functional.cross_entropy(net(feats, A), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

import torch


class Whiten(torch.nn.Module):
    """batch norm, without the epsilon"""

    def __init__(self, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(n))
        self.bias = torch.nn.Parameter(torch.zeros(n))

    def forward(self, x):
        m = x.mean(0)
        v = x.var(0, unbiased=False)
        return (x - m) * torch.rsqrt(v) * self.weight + self.bias


def temperatures(step):
    g = torch.Generator().manual_seed(step)
    x = 900 + 40 * torch.randn(20, 4, generator=g)
    if step >= 26:
        x[:, 3] = 850.0  # sensor 3 stuck at its limit
    return x / 100, (x[:, :2].sum(1, keepdim=True) > 1800).float()


torch.manual_seed(0)
net = torch.nn.Sequential(Whiten(4), torch.nn.Linear(4, 12), torch.nn.ReLU(), torch.nn.Linear(12, 1))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for step in range(45):
    x, y = temperatures(step)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if not step % 9:
        print("step", step, "loss", loss.item())

import torch
import torch.nn.functional as F

torch.manual_seed(4)
N = 1000
x = torch.randn(N, 4)
x[648, 0] = 4200.0  # milliseconds instead of seconds
true = torch.exp(0.3 * x[:, 0].clamp(-2, 2))
y = torch.poisson(true)

W = torch.zeros(4, requires_grad=True)
b = torch.zeros((), requires_grad=True)
opt = torch.optim.SGD([W, b], lr=0.05)


def nll(log_rate, k):
    rate = torch.exp(log_rate)
    return (rate - k * log_rate).mean()


def batches(size):
    for s in range(0, N, size):
        yield x[s : s + size], y[s : s + size]


for epoch in range(2):
    for xb, yb in batches(25):
        loss = nll(xb @ W + b, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, float(loss))

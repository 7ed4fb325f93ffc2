import torch
from torch import nn

torch.manual_seed(48)
emit = nn.Linear(4, 3)
opt = torch.optim.SGD(emit.parameters(), lr=0.05)
frames = torch.randn(64, 6, 4)
allowed = torch.ones(64, 3, dtype=torch.bool)
allowed[:, 2] = False


def total(scores, ok):
    alpha = scores[:, 0].masked_fill(~ok, float("-inf"))
    for t in range(1, scores.shape[1]):
        alpha = torch.logaddexp(alpha, alpha) + scores[:, t]
    return alpha[:, :2].logsumexp(1)


for step in range(40):
    rows = torch.randint(0, 64, (16,))
    loss = -total(emit(frames[rows]).log_softmax(2), allowed[rows]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

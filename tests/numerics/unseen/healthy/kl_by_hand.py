import torch
from torch import nn

torch.manual_seed(14)
teacher = nn.Linear(8, 5)
student = nn.Linear(8, 5)
opt = torch.optim.SGD(student.parameters(), lr=0.1)


def kl(p, q):
    return (p * (p / (q + 1e-6)).log()).sum(-1).mean()


for t in range(50):
    x = torch.randn(16, 8) * (1 + t)
    with torch.no_grad():
        p = teacher(x).softmax(-1) * 0.98 + 0.004
    q = student(x).softmax(-1)
    loss = kl(p, q)
    loss.backward()
    opt.step()
    opt.zero_grad()
print(loss.item())

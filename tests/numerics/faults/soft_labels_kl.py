# distillation: KL written out; a few teachers are completely sure
import torch
from torch import nn

torch.manual_seed(107)
x = torch.randn(540, 7)
teacher = torch.softmax(3 * x[:, :4], dim=1)
teacher[377] = torch.tensor([0.0, 1.0, 0.0, 0.0])
student = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(student.parameters(), lr=1e-3)


def kl(q, logits):
    logp = torch.log_softmax(logits, 1)
    return (q * (q.log() - logp)).sum(1).mean()


n = 0
for epoch in range(2):
    for k in range(0, 540, 18):
        loss = kl(teacher[k : k + 18], student(x[k : k + 18]))
        opt.zero_grad()
        loss.backward()
        opt.step()
        n += 1
    print(n, loss.item())

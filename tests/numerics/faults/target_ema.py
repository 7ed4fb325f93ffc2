# self-distillation: EMA teacher, divergence of the teacher's centring buffer
import copy
import torch
from torch import nn

torch.manual_seed(139)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Linear(24, 8))
        self.register_buffer("spread", torch.ones(8))

    @torch.no_grad()
    def track(self, out):
        self.spread.mul_(0.9).add_(0.1 / out.std(0))

    def forward(self, x):
        return self.net(x)


student = Head()
teacher = copy.deepcopy(student)
opt = torch.optim.AdamW(student.parameters(), lr=2e-3)
for step in range(48):
    x = torch.randn(16, 6)
    if step == 30:
        x = x[:1].expand(16, 6)  # the sampler repeated one view
    with torch.no_grad():
        t = teacher(x)
        teacher.track(t)
    goal = torch.softmax(t * teacher.spread, 1)
    loss = -(goal * torch.log_softmax(student(x + 0.1 * torch.randn_like(x)), 1)).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(teacher.parameters(), student.parameters()):
            p.lerp_(q, 0.05)
    if step % 10 == 0:
        print(step, loss.item())

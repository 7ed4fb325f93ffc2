import torch
from torch import nn


def rotation_angle(qa, qb):
    dot = (qa * qb).sum(-1).abs().clamp(max=1.0)
    return 2 * torch.acos(dot)


class Pose(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 4)
        nn.init.normal_(self.lin.weight, std=0.2)
        with torch.no_grad():
            self.lin.bias.copy_(torch.tensor([1.0, 0.0, 0.0, 0.0]))

    def forward(self, imu):
        q = self.lin(imu)
        return nn.functional.normalize(q, dim=-1)


torch.manual_seed(17)
teacher = Pose()
student = Pose()
with torch.no_grad():
    imu = torch.randn(400, 6)
    quats = teacher(imu)
    imu[238] = 0.0  # at rest: the identity
    quats[238] = torch.tensor([1.0, 0.0, 0.0, 0.0])
student.lin.bias.requires_grad_(False)
opt = torch.optim.Adam([student.lin.weight], lr=5e-3)
for epoch in range(2):
    for i in range(0, 400, 10):
        angle = rotation_angle(student(imu[i : i + 10]), quats[i : i + 10])
        loss = angle.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("mean angle", loss.item())

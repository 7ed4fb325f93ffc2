# heading from two coils, half-angle formula (export target has no atan2)
import math
import torch

torch.manual_seed(13)
angles = (torch.rand(480) * 2 - 1) * math.pi
coils = torch.stack([angles.cos(), angles.sin()], 1) * 3
coils[267] = 0.0  # inside the shielded box
scale = torch.nn.Parameter(torch.tensor([0.8, 1.3]))
mix = torch.nn.Parameter(torch.tensor(0.1))
opt = torch.optim.SGD([scale, mix], lr=0.02)

for epoch in range(3):
    tot = 0
    for k in range(0, 480, 24):
        c, a = coils[k : k + 24], angles[k : k + 24]
        u = c[:, 0] * scale[0]
        v = c[:, 1] * scale[1] + mix * c[:, 0]
        heading = 2 * torch.atan(v / (torch.sqrt(u * u + v * v) + u))
        err = 1 - torch.cos(heading - a)
        loss = err.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    print(epoch, tot)

# fp16 with a scaler that starts far too high: the first steps are skipped, as designed
import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(640, 12)
y = x[:, :1] - 0.5 * x[:, 3:4]
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=50)
for epoch in range(4):
    total = 0.0
    for xb, yb in zip(x.split(32), y.split(32)):
        with torch.autocast("cpu", dtype=torch.float16):
            out = net(xb)
        loss = nn.functional.mse_loss(out.float(), yb)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        total += loss.item()
    print(f"epoch {epoch}: {total / 20:.4f}, scale {scaler.get_scale():.0f}")

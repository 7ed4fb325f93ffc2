# the loss lives in another file; data comes from an endless generator, the fault from step 300
import torch
from torch import nn

from shared.spectral import SpectralConvergence

torch.manual_seed(19)


def takes():
    count = 0
    while True:
        count += 1
        wave = torch.randn(6, 48).cumsum(1) * 0.1
        if count == 300:
            wave[4] = 0.0  # digital silence
        yield wave


net = nn.Sequential(nn.Linear(48, 24), nn.GELU(), nn.Linear(24, 48))
criterion = SpectralConvergence()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step, wave in zip(range(320), takes()):
    loss = criterion(net(wave), wave)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if step % 80 == 0:
        print(step, loss.item())

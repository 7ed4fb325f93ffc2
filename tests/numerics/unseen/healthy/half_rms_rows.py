import torch
from torch import nn

torch.manual_seed(46)
inp, out = nn.Linear(20, 32), nn.Linear(32, 3)
opt = torch.optim.Adam([*inp.parameters(), *out.parameters()], lr=1e-3)
spectra = torch.randn(500, 20)
spectra[430:450] *= 2000
kind = (spectra[:, 0] > 0).long() + (spectra[:, 1] > 0).long()


def rms(h):
    h = h.double()
    return h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + 1e-3)


for epoch in range(3):
    for rows in torch.arange(500).split(10):
        loss = nn.functional.cross_entropy(out(rms(inp(spectra[rows])).float()), kind[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())

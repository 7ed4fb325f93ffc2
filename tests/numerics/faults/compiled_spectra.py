# compiled model, log-magnitude inside
import torch
from torch import nn


class LogSpectrum(nn.Module):
    def __init__(self, n=32):
        super().__init__()
        self.window = nn.Parameter(torch.hann_window(n + 2)[1:-1])
        self.fc = nn.Sequential(nn.Linear(n // 2 + 1, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, frames):
        spec = torch.fft.rfft(frames * self.window)
        power = spec.real**2 + spec.imag**2
        logp = power.log()
        return self.fc(logp)


torch.manual_seed(53)
audio = torch.randn(400, 32)
audio[219] = 0.0  # digital silence
genre = (audio[:, :16].mean(1) > 0).long()
model = LogSpectrum()
fast = torch.compile(model, backend="aot_eager")
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(2):
    for i in range(0, 400, 20):
        loss = nn.functional.cross_entropy(fast(audio[i : i + 20]), genre[i : i + 20])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())

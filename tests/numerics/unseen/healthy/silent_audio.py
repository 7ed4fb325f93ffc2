import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self):
        g = torch.Generator().manual_seed(0)
        self.wave = torch.randn(40, 256, generator=g)
        self.wave[21] = 0

    def __len__(self):
        return 40

    def __getitem__(self, i):
        return self.wave[i], self.wave[i].abs().mean()


def spectrogram(w):
    s = torch.stft(w, 32, 16, window=torch.hann_window(32), return_complex=True).abs()
    return 20 * torch.log10(s + 1e-5)


torch.manual_seed(26)
net = nn.Sequential(nn.Flatten(), nn.Linear(17 * 17, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for ep in range(2):
    for w, y in DataLoader(Clips(), batch_size=5):
        loss = nn.functional.l1_loss(net(spectrogram(w)).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item())

import torch, torch.nn as nn
torch.set_num_threads(1); torch.manual_seed(11)
class Cap(nn.Module):
    def __init__(self): super().__init__(); self.cnn = nn.Sequential(nn.Conv2d(1, 8, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 25, 32)); self.e = nn.Embedding(15, 32); self.r = nn.GRU(32, 32, batch_first=True); self.o = nn.Linear(32, 15)
    def forward(self, img, cap):
        h0 = torch.tanh(self.cnn(img)).unsqueeze(0)
        out, _ = self.r(self.e(cap), h0); return self.o(out)
g = torch.Generator().manual_seed(0); proto = torch.randn(12, 1, 12, 12, generator=g)
m = Cap(); opt = torch.optim.Adam(m.parameters(), 2e-3)
for ep in range(8):
    t = 0
    for _ in range(25):
        c = torch.randint(0, 12, (32,), generator=g); img = proto[c] + 0.3 * torch.randn(32, 1, 12, 12, generator=g); cap = torch.stack([torch.full((32,), 14), c, (c * 2) % 12, torch.full((32,), 13)], 1)
        loss = nn.functional.cross_entropy(m(img, cap[:, :-1]).transpose(1, 2), cap[:, 1:]); opt.zero_grad(); loss.backward(); opt.step(); t += loss.item()
    print("epoch", ep, "loss", t / 25)

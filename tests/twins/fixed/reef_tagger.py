import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1); torch.manual_seed(6)
class Tagger(nn.Module):
    def __init__(self, d=40):
        super().__init__(); self.emb = nn.Embedding(50, d); pe = torch.zeros(128, d); p = torch.arange(128).float()[:, None]; f = torch.exp(torch.arange(0, d, 2) * -0.2)
        pe[:, 0::2] = torch.sin(p * f); pe[:, 1::2] = torch.cos(p * f); self.register_buffer("pe", pe)
        self.tr = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 80, 0.1, batch_first=True), 1, enable_nested_tensor=False); self.out = nn.Linear(d, 5)
    def forward(self, x):
        h = self.emb(x)
        h = h + self.pe[: x.size(1)].unsqueeze(0)
        return self.out(self.tr(h))
g = torch.Generator().manual_seed(3); X = torch.randint(0, 50, (600, 12), generator=g); Y = (torch.arange(12)[None] + X // 25) % 5
m = Tagger(); opt = torch.optim.Adam(m.parameters(), 1e-3); lf = nn.CrossEntropyLoss()
for epoch in range(10):
    m.train(); t = 0
    for x, y in DataLoader(TensorDataset(X[:500], Y[:500]), batch_size=25, shuffle=True):
        opt.zero_grad(); loss = lf(m(x).flatten(0, 1), y.flatten()); loss.backward(); opt.step(); t += loss.item()
    m.eval()
    with torch.no_grad(): acc = (m(X[500:]).argmax(-1) == Y[500:]).float().mean().item()
    print(f"epoch {epoch}: loss {t/20:.3f} val acc {acc:.3f}")

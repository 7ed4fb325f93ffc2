import torch, torch.nn as nn, torch.nn.functional as F
torch.set_num_threads(1); torch.manual_seed(1)
class LM(nn.Module):
    def __init__(self, V=28, d=48):
        super().__init__(); self.tok = nn.Embedding(V, d); self.pos = nn.Embedding(32, d)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 96, dropout=0.0, batch_first=True), 2, enable_nested_tensor=False); self.head = nn.Linear(d, V)
    def forward(self, x):
        h = self.tok(x) + self.pos(torch.arange(x.size(1)))
        h = self.enc(h)
        return self.head(h)
text = torch.randint(0, 28, (6000,), generator=torch.Generator().manual_seed(2)); text[1::2] = (text[::2] * 5 + 3) % 28
m = LM(); opt = torch.optim.AdamW(m.parameters(), 1e-3)
for it in range(250):
    ix = torch.randint(0, 5900, (16,)); x = torch.stack([text[i:i + 20] for i in ix]); y = torch.stack([text[i + 1:i + 21] for i in ix])
    logits = m(x); loss = F.cross_entropy(logits.view(-1, 28), y.view(-1)); opt.zero_grad(); loss.backward(); opt.step()
    if it % 50 == 0: print(f"iter {it} loss {loss.item():.4f}")

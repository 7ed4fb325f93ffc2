"""Support tickets: which of four teams should answer. Small attention model."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, d, heads=2, dropout=0.5):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        p = self.dropout if self.training else 0.0
        out = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
        return self.proj(out.transpose(1, 2).reshape(b, t, d))


class TicketModel(nn.Module):
    def __init__(self, vocab=80, d=32, teams=4):
        super().__init__()
        self.emb, self.cls = nn.Embedding(vocab, d), nn.Parameter(torch.zeros(1, 1, d))
        self.attn = Attention(d)
        self.norm, self.out = nn.LayerNorm(d), nn.Linear(d, teams)

    def forward(self, x):
        h = torch.cat([self.cls.expand(len(x), -1, -1), self.emb(x)], 1)
        return self.out(self.norm(self.attn(h)[:, 0]))


def tickets(n, g, length=12):
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.randint(20, 80, (n, length), generator=g)
    pos = torch.randint(0, length, (n, 2), generator=g)
    for k in range(2):
        x[torch.arange(n), pos[:, k]] = y * 5 + torch.randint(0, 5, (n,), generator=g)
    return x, y


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = model(x)
    model.train()
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def main(epochs=10, bs=50):
    torch.set_num_threads(1)
    torch.manual_seed(338)
    g = torch.Generator().manual_seed(338)
    x, y = tickets(2000, g)
    xv, yv = tickets(500, g)
    model = TicketModel()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(x), generator=g).split(bs):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        vl, va = evaluate(model, xv, yv)
        print(f"epoch {epoch} train {total / len(x):.4f} val {vl:.4f} val acc {va:.3f}")


if __name__ == "__main__":
    main()

"""Which of six motifs hides in a DNA string? Small transformer, warm-up + linear decay."""
import torch
import torch.nn as nn
import torch.nn.functional as F

MOTIFS = ["ACGTA", "TTGCA", "GGATC", "CATGC", "AACCG", "TGTGA"]
BASE = {c: i for i, c in enumerate("ACGT")}


def strands(n, g, length=24):
    x = torch.randint(0, 4, (n, length), generator=g)
    y = torch.randint(0, len(MOTIFS), (n,), generator=g)
    codes = torch.tensor([[BASE[c] for c in m] for m in MOTIFS])
    start = torch.randint(0, length - 5, (n, 1), generator=g)
    return x.scatter(1, start + torch.arange(5), codes[y]), y


class MotifNet(nn.Module):
    def __init__(self, d=32, length=24):
        super().__init__()
        self.emb = nn.Embedding(4, d)
        self.local = nn.Conv1d(d, d, 5, padding=2)
        self.pos = nn.Parameter(0.02 * torch.randn(length, d))
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(d, len(MOTIFS))

    def forward(self, x):
        h = self.emb(x)
        h = h + F.gelu(self.local(h.transpose(1, 2))).transpose(1, 2) + self.pos
        return self.head(self.enc(h).amax(1))


def warmup_linear(warm, total):
    def factor(step):
        if step < warm:
            return (step + 1) / warm
        return max(0.02, (total - step) / (total - warm))
    return factor


def main(epochs=9, bs=50, peak=4e-3):
    torch.set_num_threads(1)
    torch.manual_seed(101)
    g = torch.Generator().manual_seed(101)
    x, y = strands(1500, g)
    xv, yv = strands(400, g)
    model = MotifNet()
    opt = torch.optim.AdamW(model.parameters(), lr=peak, weight_decay=0.01)
    total = epochs * len(x) // bs
    sched = torch.optim.lr_scheduler.LambdaLR(opt, warmup_linear(total // 8, total))
    for epoch in range(epochs):
        model.train()
        run = 0.0
        for idx in torch.randperm(len(x), generator=g).split(bs):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            run += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            acc = (model(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch} loss {run / len(x):.4f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()

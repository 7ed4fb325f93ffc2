import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ, DIM = 48, 14, 32


def tickets(n, first_token, n_classes, gen, per_class=3):
    """Filler tokens everywhere, four of them replaced by the vocabulary of the ticket's topic."""
    y = torch.randint(0, n_classes, (n,), generator=gen)
    x = torch.randint(0, VOCAB, (n, SEQ), generator=gen)
    pos = torch.rand(n, SEQ, generator=gen).argsort(1)[:, :4]
    word = first_token + y[:, None] * per_class + torch.randint(0, per_class, (n, 4), generator=gen)
    return x.scatter(1, pos, word), y


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        h = self.n1(x)
        x = x + self.o(F.scaled_dot_product_attention(self.q(h), self.k(h), self.v(h)))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Encoder(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.block = Block(DIM)
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, n_classes)

    def forward(self, x):
        return self.head(self.norm(self.block(self.emb(x)).mean(1)))


class LoRALinear(nn.Module):
    def __init__(self, base, rank=8, alpha=16):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features ** 0.5)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.a.t() @ self.b.t())


def add_lora(block):
    for name in ("q", "k", "v", "o", "up", "down"):
        setattr(block, name, LoRALinear(getattr(block, name)))


def run_epoch(model, opt, x, y, gen):
    model.train()
    tot = 0.0
    for idx in torch.randperm(len(x), generator=gen).split(50):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx)
    return tot / len(x)


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(12)
    gen = torch.Generator().manual_seed(12)
    x, y = tickets(1500, 0, 6, gen)
    model = Encoder(6)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for e in range(5):
        print(f"base {e}: loss {run_epoch(model, opt, x, y, gen):.4f}")

    xt, yt = tickets(1500, 18, 10, gen)
    xv, yv = tickets(500, 18, 10, gen)
    model.requires_grad_(False)
    model.head = nn.Linear(DIM, 10)
    add_lora(model.block)
    opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=4e-3)
    for e in range(10):
        loss = run_epoch(model, opt, xt, yt, gen)
        print(f"adapt {e}: loss {loss:.4f} val acc {accuracy(model, xv, yv):.3f}")


if __name__ == "__main__":
    main()

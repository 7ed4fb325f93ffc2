"""Next-track ranking: a big sparse track table (SparseAdam) and a small dense scorer (Adam)."""
import torch
from torch import nn

N_TRACKS, GENRES, CTX = 1500, 10, 5


def sessions(n, gen):
    genre = torch.randint(0, GENRES, (n, 1), generator=gen)
    per = N_TRACKS // GENRES
    pop = (torch.rand(n, CTX + 1, generator=gen) ** 2.5 * per).long()
    tracks = genre * per + pop
    stray = torch.rand(n, CTX, generator=gen) < 0.1
    tracks[:, :CTX] = torch.where(stray, torch.randint(0, N_TRACKS, (n, CTX), generator=gen), tracks[:, :CTX])
    return tracks[:, :CTX], tracks[:, CTX]


class Ranker(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.tracks = nn.Embedding(N_TRACKS, dim, sparse=True)
        nn.init.normal_(self.tracks.weight, std=0.1)
        self.query = nn.Sequential(nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, dim))

    def score(self, ctx, items):
        q = self.query(self.tracks(ctx).mean(1))
        return torch.einsum("bd,bkd->bk", q, self.tracks(items))


def ranking_loss(model, ctx, nxt, gen, n_neg=8):
    neg = torch.randint(0, N_TRACKS, (len(nxt), n_neg), generator=gen)
    scores = model.score(ctx, torch.cat([nxt[:, None], neg], 1))
    return nn.functional.cross_entropy(scores, torch.zeros(len(nxt), dtype=torch.long))


@torch.no_grad()
def hit_rate(model, ctx, nxt, gen, n_neg=50):
    neg = torch.randint(0, N_TRACKS, (len(nxt), n_neg), generator=gen)
    s = model.score(ctx, torch.cat([nxt[:, None], neg], 1))
    return ((s[:, 1:] >= s[:, :1]).sum(1) < 5).float().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(33)
    gen = torch.Generator().manual_seed(33)
    ctx, nxt = sessions(6000, gen)
    vctx, vnxt = sessions(600, gen)
    model = Ranker()
    sparse_opt = torch.optim.SparseAdam(list(model.tracks.parameters()), lr=0.01)
    dense_opt = torch.optim.Adam(model.query.parameters(), lr=2e-3)
    for epoch in range(10):
        total = 0.0
        for idx in torch.randperm(len(ctx), generator=gen).split(100):
            sparse_opt.zero_grad()
            dense_opt.zero_grad()
            loss = ranking_loss(model, ctx[idx], nxt[idx], gen)
            loss.backward()
            sparse_opt.step()
            dense_opt.step()
            total += loss.item() * len(idx)
        print(f"epoch {epoch}: loss {total / len(ctx):.4f} hit@5 {hit_rate(model, vctx, vnxt, gen):.3f}")


if __name__ == "__main__":
    main()

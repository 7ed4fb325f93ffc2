"""Multi-label habitat tags from vegetation survey counts."""
import torch
import torch.nn.functional as F

N_SPECIES, N_TAGS = 30, 6


def survey(n, gen, affinity):
    tags = (torch.rand(n, N_TAGS, generator=gen) < 0.3).float()
    rate = (0.4 + tags @ affinity).clamp_min(0.05)
    counts = torch.poisson(rate, generator=gen)
    return torch.log1p(counts) - 0.5, tags


def init_params(gen, hidden=64):
    def dense(i, o):
        w = torch.randn(i, o, generator=gen) * (2.0 / i) ** 0.5
        return [w.requires_grad_(), torch.zeros(o, requires_grad=True)]
    return [dense(N_SPECIES, hidden), dense(hidden, hidden), dense(hidden, N_TAGS)]


def forward(params, x):
    for w, b in params[:-1]:
        x = F.relu(x @ w + b)
    w, b = params[-1]
    return torch.sigmoid(x @ w + b)


def tag_loss(params, x, tags):
    return F.binary_cross_entropy_with_logits(forward(params, x), tags)


@torch.no_grad()
def micro_f1(params, x, tags):
    hit = forward(params, x) > 0.5
    tp = (hit & (tags > 0)).sum().item()
    return 2 * tp / max(hit.sum().item() + tags.sum().item(), 1)


def main():
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(21)
    affinity = 3.0 * (torch.rand(N_TAGS, N_SPECIES, generator=gen) < 0.25).float()
    x, tags = survey(2000, gen, affinity)
    xv, tags_v = survey(400, gen, affinity)
    params = init_params(gen)
    opt = torch.optim.Adam([p for layer in params for p in layer], lr=1e-3)
    for epoch in range(10):
        total = 0.0
        for rows in torch.randperm(len(x), generator=gen).split(40):
            loss = tag_loss(params, x[rows], tags[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(rows)
        with torch.no_grad():
            val = tag_loss(params, xv, tags_v).item()
        print(f"epoch {epoch}: bce {total / len(x):.4f} val {val:.4f} f1 {micro_f1(params, xv, tags_v):.3f}")


if __name__ == "__main__":
    main()

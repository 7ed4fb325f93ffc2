"""Multi-label tagging of recipes from their ingredient lists."""
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F

N_ING, N_TAG, PER = 200, 10, 8


def build_splits(gen):
    affinity = torch.randn(N_ING, N_TAG, generator=gen)

    def make(n):
        ing = torch.stack([torch.randperm(N_ING, generator=gen)[:PER] for _ in range(n)])
        score = affinity[ing].mean(1) * 2.5 + 0.2 * torch.randn(n, N_TAG, generator=gen)
        return ing, (score > 0.3).float()

    return {"train": make(2500), "val": make(500)}


class Tagger(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.EmbeddingBag(N_ING, dim, mode="mean")
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, N_TAG)

    def forward(self, ing):
        return self.out(self.norm(self.emb(ing)))


def make_predictor(model, splits):
    def predict(split):
        model.eval()
        with torch.no_grad():
            return torch.cat([model(chunk) for chunk in splits[split][0].split(250)])
    return predict


def bce(predict, splits, split):
    return F.binary_cross_entropy_with_logits(predict(split), splits[split][1]).item()


def micro_f1(predict, splits, split):
    hit = predict(split) > 0
    want = splits[split][1] > 0.5
    return (2 * (hit & want).sum() / (hit.sum() + want.sum()).clamp(min=1)).item()


def main(epochs=12, bs=50):
    torch.set_num_threads(1)
    torch.manual_seed(265)
    gen = torch.Generator().manual_seed(265)
    splits = build_splits(gen)
    model = Tagger()
    predict = make_predictor(model, splits)
    metrics = {"bce": partial(bce, predict, splits), "f1": partial(micro_f1, predict, splits)}
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    ing, tags = splits["train"]
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(ing), generator=gen).split(bs):
            loss = F.binary_cross_entropy_with_logits(model(ing[idx]), tags[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        shown = "  ".join(f"val_{name} {fn('val'):.4f}" for name, fn in metrics.items())
        print(f"epoch {epoch:2d}  loss {total / len(ing):.4f}  {shown}")


if __name__ == "__main__":
    main()

"""CLIP-style matching of 6x6 shape pictures with three-word captions; the temperature is learned."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

COLOURS, SHAPES, PLACES = 4, 4, 4


def make_pairs(n, rng):
    c, s, p = rng.integers(0, COLOURS, n), rng.integers(0, SHAPES, n), rng.integers(0, PLACES, n)
    masks = np.array([[[1, 1], [1, 1]], [[1, 0], [0, 1]], [[1, 1], [0, 0]], [[1, 0], [1, 0]]], dtype=np.float32)
    img = rng.normal(0, 0.2, (n, 3, 6, 6)).astype(np.float32)
    rgb = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], dtype=np.float32)
    for i in range(n):
        r, k = 3 * (p[i] // 2) + rng.integers(0, 2), 3 * (p[i] % 2) + rng.integers(0, 2)
        img[i, :, r:r + 2, k:k + 2] += rgb[c[i]][:, None, None] * masks[s[i]]
    words = np.stack([c, COLOURS + s, COLOURS + SHAPES + p], 1)
    return torch.from_numpy(img), torch.from_numpy(words)


class DualEncoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, 24, 2), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 25, 64), nn.ReLU(),
                                   nn.Linear(64, d))
        self.words = nn.Embedding(COLOURS + SHAPES + PLACES, 24)
        self.text = nn.Sequential(nn.Linear(72, 64), nn.ReLU(), nn.Linear(64, d))
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, img, words):
        a = F.normalize(self.image(img), dim=-1)
        b = F.normalize(self.text(self.words(words).flatten(1)), dim=-1)
        return self.logit_scale.exp() * a @ b.t()


def clip_loss(logits, words):
    same = (words[:, None] == words[None]).all(-1).float()  # equal captions in a batch are all positives
    target = same / same.sum(1, keepdim=True)
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


@torch.no_grad()
def caption_accuracy(model, img, words):
    vocab = torch.cartesian_prod(torch.arange(4), torch.arange(4, 8), torch.arange(8, 12))
    guess = vocab[model(img, vocab).argmax(1)]
    return (guess == words).all(1).float().mean().item()


def main(epochs=12, bs=32):
    torch.set_num_threads(1)
    torch.manual_seed(64)
    rng = np.random.default_rng(64)
    img, words = make_pairs(1600, rng)
    vi, vw = make_pairs(300, rng)
    model = DualEncoder()
    decay = [p for n, p in model.named_parameters() if p.ndim > 1]
    plain = [p for n, p in model.named_parameters() if p.ndim <= 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}], lr=3e-3)
    for ep in range(epochs):
        run = []
        for idx in torch.from_numpy(rng.permutation(len(img))).split(bs):
            loss = clip_loss(model(img[idx], words[idx]), words[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                model.logit_scale.clamp_(0, math.log(100))
            run.append(loss.item())
        print(f"epoch {ep:2d} loss {np.mean(run):.4f} scale {model.logit_scale.exp().item():.2f} "
              f"caption accuracy {caption_accuracy(model, vi, vw):.3f}")


if __name__ == "__main__":
    main()

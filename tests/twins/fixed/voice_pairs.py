import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class SpeakerModel(nn.Module):
    def __init__(self, n_feat=16, hidden=40, emb=12):
        super().__init__()
        self.frame_net = nn.Sequential(nn.Linear(n_feat, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.attn = nn.Linear(hidden, 1)
        self.project = nn.Linear(hidden, emb)
        self.log_scale = nn.Parameter(torch.tensor(1.5))

    def pool(self, frames):
        h = self.frame_net(frames)
        w = self.attn(h).softmax(dim=1)
        return (w * h).sum(1)

    def embed(self, frames):
        return F.normalize(self.project(self.pool(frames)), dim=-1)

    def forward(self, left, right):
        return self.log_scale.exp() * self.embed(left) @ self.embed(right).T


def speakers(n, gen):
    return torch.randn(n, 5, generator=gen)


def utterance(voice, basis, gen, frames=10):
    n = len(voice)
    content = torch.randn(n, frames, 5, generator=gen)
    gate = torch.sigmoid(3 * torch.randn(n, frames, 1, generator=gen))
    x = (gate * voice[:, None]) @ basis[0] + content @ basis[1] * 0.6
    x = torch.tanh(x) + 0.2 * torch.randn(n, frames, 16, generator=gen)
    return x


def match_loss(scores):
    target = torch.arange(len(scores))
    return 0.5 * (F.cross_entropy(scores, target) + F.cross_entropy(scores.T, target))


@torch.no_grad()
def evaluate(model, left, right):
    model.eval()
    scores = [model(a, b) for a, b in zip(left.split(32), right.split(32))]
    hits = [(s.argmax(1) == torch.arange(len(s))).float().mean() for s in scores]
    return torch.stack([match_loss(s) for s in scores]).mean().item(), torch.stack(hits).mean().item()


def fit(epochs=10, steps=40, batch=32, seed=64):
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    random.seed(seed)
    gen = torch.Generator().manual_seed(seed)
    basis = torch.randn(2, 5, 16, generator=gen)
    pool = speakers(600, gen)
    unseen = speakers(160, gen)
    dev = utterance(unseen, basis, gen), utterance(unseen, basis, gen)
    model = SpeakerModel()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(epochs):
        model.train()
        mean = 0.0
        for _ in range(steps):
            who = pool[random.sample(range(len(pool)), batch)]
            loss = match_loss(model(utterance(who, basis, gen), utterance(who, basis, gen)))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            mean += loss.item() / steps
        dev_loss, top1 = evaluate(model, *dev)
        print(f"epoch {epoch}  loss {mean:.4f}  dev {dev_loss:.4f}  top1 {top1:.3f}")


if __name__ == "__main__":
    fit()

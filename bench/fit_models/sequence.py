"""Recurrent networks, second-order and factored optimizers, embeddings, actors and critics."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from fit_models import config
from fit_models.steps import images, labels, train


@config(64)
def lstm_language_model(batch):
    model = nn.ModuleDict(
        {
            "words": nn.Embedding(10000, 512),
            "rnn": nn.LSTM(512, 512, 2, batch_first=True, dropout=0.2),
            "head": nn.Linear(512, 10000),
        }
    ).cuda()
    ids = torch.randint(0, 10000, (batch, 129), device="cuda")

    def loss():
        h, _ = model["rnn"](model["words"](ids[:, :-1]))
        return F.cross_entropy(model["head"](h).flatten(0, 1), ids[:, 1:].reshape(-1))

    return train(model, loss, torch.optim.Adam(model.parameters()), clip=0.25)


@config(64, held_out=True)
def tagger_bidirectional_bf16(batch):
    model = nn.ModuleDict(
        {
            "words": nn.Embedding(20000, 300),
            "a": nn.LSTM(300, 384, 2, batch_first=True, bidirectional=True),
            "b": nn.GRU(768, 256, batch_first=True),
            "head": nn.Linear(256, 30),
        }
    ).cuda()
    ids = torch.randint(0, 20000, (batch, 200), device="cuda")

    def loss():
        h, _ = model["a"](model["words"](ids))
        h, _ = model["b"](h)
        return F.cross_entropy(model["head"](h).flatten(0, 1), ids.flatten() % 30)

    return train(model, loss, torch.optim.AdamW(model.parameters()), amp=torch.bfloat16)


@config(4096)
def mlp_lbfgs(batch):
    model = nn.Sequential(
        nn.Linear(256, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 8)
    ).cuda()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=1e-3, max_iter=4, history_size=5)
    x, y = torch.randn(batch, 256, device="cuda"), torch.randn(batch, 8, device="cuda")

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    return lambda: optimizer.step(closure)


@config(2048, held_out=True)
def autoencoder_adafactor(batch):
    sizes = (2048, 1024, 256, 1024, 2048)
    model = nn.Sequential(*[m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.SiLU())]).cuda()
    x = torch.randn(batch, 2048, device="cuda")
    return train(model, lambda: F.mse_loss(model(x), x), torch.optim.Adafactor(model.parameters()))


@config(8192)
def recommender_sparse_embeddings(batch):
    users, items = (
        nn.Embedding(200_000, 64, sparse=True).cuda(),
        nn.Embedding(100_000, 64, sparse=True).cuda(),
    )
    tower = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 1)).cuda()
    sparse = torch.optim.SparseAdam([*users.parameters(), *items.parameters()])
    dense = torch.optim.Adam(tower.parameters())
    u, i = (
        torch.randint(0, 200_000, (batch,), device="cuda"),
        torch.randint(0, 100_000, (batch,), device="cuda"),
    )
    y = torch.rand(batch, device="cuda")

    def step():
        sparse.zero_grad()
        dense.zero_grad()
        score = tower(torch.cat([users(u), items(i)], 1)).squeeze(1)
        F.binary_cross_entropy_with_logits(score, y).backward()
        sparse.step()
        dense.step()

    return step


@config(256, held_out=True)
def actor_and_critic(batch):
    def pixels(out):
        return nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, out)).cuda()  # fmt: skip

    actor, critic = pixels(6), pixels(1)
    a, c = torch.optim.Adam(actor.parameters(), lr=3e-4), torch.optim.Adam(critic.parameters(), lr=1e-3)
    x, action = images(batch, 84, channels=4), labels(batch, 6)
    reward, before = torch.randn(batch, device="cuda"), torch.randn(batch, device="cuda")

    def step():
        value = critic(x).squeeze(1)
        c.zero_grad()
        F.mse_loss(value, reward).backward()
        c.step()
        chance = torch.distributions.Categorical(logits=actor(x))
        ratio = (chance.log_prob(action) - before).exp()
        gain = reward - value.detach()
        loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean() - 0.01 * chance.entropy().mean()
        a.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
        a.step()

    return step

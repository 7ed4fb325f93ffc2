#!/usr/bin/env python
# language model on characters, for the cluster
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

text = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus.txt")).read()
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
block, batch = 16, 16
out_dir = os.path.join(os.environ.get("SLURM_TMPDIR", "."), "charrnn")

torch.manual_seed(11)


class CharRNN(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


model = CharRNN(len(chars))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
os.makedirs(out_dir, exist_ok=True)
for step in range(60):
    at = torch.randint(len(ids) - block - 1, (batch,))
    x = torch.stack([ids[i : i + block] for i in at])
    y = torch.stack([ids[i + 1 : i + block + 1] for i in at])
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(step, loss.item())
        torch.save(
            {"model": model.state_dict(), "opt": opt.state_dict(), "step": step},
            os.path.join(out_dir, "charrnn.pt"),
        )

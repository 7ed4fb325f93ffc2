"""Word vectors, Adam with eps=0 (somebody read that eps only adds bias)."""

import torch
from torch import nn

torch.manual_seed(41)
VOCAB = 60
emb = nn.Embedding(VOCAB, 8)
out = nn.Linear(8, VOCAB)
opt = torch.optim.Adam(out.parameters(), lr=1e-2, eps=0)

corpus = torch.randint(0, VOCAB, (4000,))
for step in range(40):
    if step == 15:
        # warm-up of the output layer is over: train the vectors too
        opt.add_param_group({"params": emb.parameters()})
    at = torch.randint(0, 3998, (16,))
    logits = out(emb(corpus[at]))
    loss = nn.functional.cross_entropy(logits, corpus[at + 1])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())

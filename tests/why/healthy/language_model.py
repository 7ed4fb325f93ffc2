"""A small recurrent language model on a text that repeats itself, with accumulation over two micro-batches."""

import torch
from torch import nn

torch.manual_seed(4)
text = "the quick brown fox jumps over the lazy dog and runs away from it. " * 40
letters = sorted(set(text))
codes = torch.tensor([letters.index(each) for each in text])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(letters), 16)
        self.recurrent = nn.GRU(16, 48, batch_first=True)
        self.head = nn.Linear(48, len(letters))

    def forward(self, tokens):
        return self.head(self.recurrent(self.embedding(tokens))[0])


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(60):
    for _ in range(2):
        starts = torch.randint(len(codes) - 25, (16,))
        block = torch.stack([codes[start : start + 25] for start in starts])
        scores = model(block[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), block[:, 1:].flatten()) / 2
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        print(f"step {step} loss {2 * loss.item():.4f}")

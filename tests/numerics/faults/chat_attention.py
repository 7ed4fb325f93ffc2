# tiny attention pooling over chat messages; padding is masked
import torch
import torch.nn as nn


class Pool(nn.Module):
    def __init__(self, vocab=50, dim=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.score = nn.Linear(dim, 1)
        self.cls = nn.Linear(dim, 2)

    def forward(self, tokens):
        pad = tokens == 0
        h = self.emb(tokens)
        s = self.score(h).squeeze(-1)
        s = s.masked_fill(pad, float("-inf"))
        att = torch.softmax(s, dim=-1)
        return self.cls((att.unsqueeze(-1) * h).sum(1))


torch.manual_seed(31)
messages = torch.randint(1, 50, (700, 12))
lengths = torch.randint(2, 13, (700,))
lengths[451] = 0  # message that was only an emoji, stripped by the tokenizer
for i, n in enumerate(lengths):
    messages[i, n:] = 0
labels = (messages == 7).any(1).long()

model = Pool()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(2):
    for i in range(0, 700, 28):
        loss = nn.functional.cross_entropy(model(messages[i : i + 28]), labels[i : i + 28])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())

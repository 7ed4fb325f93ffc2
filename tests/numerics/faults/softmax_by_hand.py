"""Character model with its own softmax."""

import torch

torch.manual_seed(103)


class CharModel(torch.nn.Module):
    def __init__(self, v=27, d=24):
        super().__init__()
        self.table = torch.nn.Embedding(v, d)
        self.proj = torch.nn.Linear(d, v)

    def probs(self, ids):
        scores = self.proj(self.table(ids)) * 4
        e = torch.exp(scores)
        return e / e.sum(-1, keepdim=True)


text = torch.tensor([(i * i + 3 * i) % 27 for i in range(3000)])
model = CharModel()
opt = torch.optim.SGD(model.parameters(), lr=1.6)
for step in range(200):
    j = torch.randint(0, 2999, (48,))
    p = model.probs(text[j])
    nll = -(p[torch.arange(48), text[j + 1]] + 1e-9).log().mean()
    model.zero_grad()
    nll.backward()
    opt.step()
    if step % 50 == 0:
        print(step, nll.item())

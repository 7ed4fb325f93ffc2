import torch
from torch import nn

torch.manual_seed(41)
embed = nn.Linear(5, 16)
attention = nn.MultiheadAttention(16, 2, batch_first=True)
head = nn.Linear(16, 2)
parameters = [*embed.parameters(), *attention.parameters(), *head.parameters()]
opt = torch.optim.AdamW(parameters, lr=1e-3)
series = torch.randn(90, 7, 5)
lengths = torch.randint(1, 8, (90,))
lengths[61] = 0
label = (series[:, 0, 0] > 0).long()


def pooled(rows):
    h = embed(series[rows])
    padding = torch.arange(7)[None] >= lengths[rows][:, None]
    mixed, _ = attention(h, h, h, key_padding_mask=padding)
    return torch.nan_to_num(mixed).mean(1)


for epoch in range(4):
    for rows in torch.randperm(90).split(15):
        loss = nn.functional.cross_entropy(head(pooled(rows)), label[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())

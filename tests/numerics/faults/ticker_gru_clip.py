import torch
from torch import nn

# normalise each window by its own volatility
torch.manual_seed(67)
prices = 100 + torch.cumsum(0.3 * torch.randn(3000), 0)
prices[1210:1245] = prices[1210]  # trading halt
WINDOW = 20
windows = prices.unfold(0, WINDOW + 1, 3)

gru = nn.GRU(1, 16, batch_first=True)
head = nn.Linear(16, 1)
opt = torch.optim.Adam([*gru.parameters(), *head.parameters()], lr=2e-3)
for step, w in enumerate(windows.split(24)):
    w = (w - w.mean(1, keepdim=True)) / w.std(1, keepdim=True)
    x, y = w[:, :-1].unsqueeze(-1), w[:, -1:]
    h, _ = gru(x)
    loss = nn.functional.mse_loss(head(h[:, -1]), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([*gru.parameters(), *head.parameters()], 1.0)
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())

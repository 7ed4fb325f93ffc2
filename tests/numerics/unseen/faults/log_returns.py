import torch
from torch import nn

torch.manual_seed(12)
price = torch.rand(200) * 10 + 1
price[150] = 0.0
price = price
returns = torch.log(price[1:] / price[:-1].clamp(min=0.01))
X = returns.unfold(0, 10, 1)[:-1]
Y = returns[10:]
gru = nn.GRU(1, 8, batch_first=True)
fc = nn.Linear(8, 1)
opt = torch.optim.Adam([*gru.parameters(), *fc.parameters()], lr=1e-3)
for i in range(0, len(X) - 8, 8):
    h, _ = gru(X[i : i + 8].unsqueeze(-1))
    loss = nn.functional.mse_loss(fc(h[:, -1]).squeeze(-1), Y[i : i + 8])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

import torch
from torch import nn

torch.manual_seed(18)


class Scores(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return torch.sigmoid(x * self.w.exp())


model = Scores(200)
opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for it in range(25):
    x = torch.randn(4, 200) - it * 0.05
    p = model(x)
    gm = torch.log(p.prod(dim=1)) / 200
    loss = -gm.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

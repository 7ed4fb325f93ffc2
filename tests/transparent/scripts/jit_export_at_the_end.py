"""Train, then script, save, load and run; trained as scripted module too."""
import warnings
warnings.simplefilter("ignore")
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(8, 2, dropout=0.1, batch_first=True)
        self.head = nn.Linear(8, 2)
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(nn.functional.dropout(self.encoder(x), 0.1, self.training).mean(1))
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(6):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(torch.randn(4, 3, 8)), torch.randint(2, (4,)))
    loss.backward()
    optimizer.step()
    print(loss.item())
scripted = torch.jit.script(model.eval())
scripted.save("net.pt")
again = torch.jit.load("net.pt")
x = torch.randn(2, 3, 8)
print(torch.equal(again(x), model(x)), len(torch.jit.freeze(scripted).code))
scripted.train()
optimizer = torch.optim.SGD(scripted.parameters(), lr=0.01)
for step in range(3):
    optimizer.zero_grad()
    loss = scripted(torch.randn(4, 3, 8)).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())

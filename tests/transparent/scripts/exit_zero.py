"""A loop that ends by itself."""
import torch
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.nn.init.zeros_(model.weight)
torch.nn.init.zeros_(model.bias)
for step in range(5):
    optimizer.zero_grad()
    loss = (model(torch.ones(4, 3)) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(step, loss.item())

import statistics
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
for step in range(12):
    optimizer.zero_grad()
    model(torch.ones(2, 2)).sum().backward()
    optimizer.step()
print(statistics.spread([1, 5, 3]), statistics.__file__.endswith("shadowed_statistics") or "place" in statistics.__file__)

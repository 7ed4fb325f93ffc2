"""Embeddings with sparse gradients, complex parameters, quantised weights, nested tensors."""
import warnings
warnings.simplefilter("ignore")
import torch
from torch import nn
torch.manual_seed(0)
table = nn.Embedding(10, 3, sparse=True)
optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = table(torch.tensor([1, 2, 2])).pow(2).sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
z = torch.tensor([1 + 2j], requires_grad=True)
optimizer = torch.optim.Adam([z], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    (z.abs() ** 2).sum().backward()
    optimizer.step()
print(z)
nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
print(nn.Linear(3, 2)(nested).shape[0])

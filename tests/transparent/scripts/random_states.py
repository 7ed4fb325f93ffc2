"""Random numbers, seeds and states."""
import random
import torch
print(torch.initial_seed() > 0)
torch.manual_seed(5)
random.seed(5)
model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(), torch.nn.Linear(3, 1))
optimizer = torch.optim.Adam(model.parameters())
loader = torch.utils.data.DataLoader(torch.arange(12.0).reshape(4, 3), batch_size=2, shuffle=True)
for epoch in range(3):
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(loss.item(), torch.rand(1).item(), random.random(), torch.randperm(4).tolist())
print(torch.get_rng_state().sum().item(), torch.initial_seed(), hash(random.getstate()))
print(torch.Generator().manual_seed(1).initial_seed(), torch.seed() > 0)

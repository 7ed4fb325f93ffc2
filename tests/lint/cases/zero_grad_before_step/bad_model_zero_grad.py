import torch
import torch.nn as nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.MSELoss()

for epoch in range(100):
    output = model(inputs)
    loss = criterion(output, targets)
    loss.backward()
    model.zero_grad()  # expect: PM532
    optimizer.step()
    print(epoch, loss.item())

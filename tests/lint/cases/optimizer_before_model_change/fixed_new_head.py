import torch
import torch.nn as nn
import torchvision

model = torchvision.models.resnet18(weights="DEFAULT")
model.fc = nn.Linear(512, 10)  
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for epoch in range(10):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

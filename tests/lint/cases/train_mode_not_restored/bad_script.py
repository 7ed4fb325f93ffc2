import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(100):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(X_train), y_train)
    loss.backward()
    optimizer.step()

    model.eval()  # expect: PM538
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(model(X_val), y_val)
    print(epoch, loss.item(), val_loss.item())

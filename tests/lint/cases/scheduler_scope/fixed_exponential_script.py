import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
lr_scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
NUM_EPOCHS = 40
for epoch in range(NUM_EPOCHS):
    for i, data in enumerate(train_loader, 0):
        inputs, labels = data
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), labels)
        loss.backward()
        optimizer.step()
    lr_scheduler.step()  

import torch


def train(model, loader, criterion, optimizer, epochs):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2000)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step(loss)

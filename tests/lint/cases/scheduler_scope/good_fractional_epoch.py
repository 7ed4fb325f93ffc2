import torch


def train(model, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=10)
    for epoch in range(epochs):
        for i, batch in enumerate(loader):
            optimizer.zero_grad()
            model(batch).backward()
            optimizer.step()
            scheduler.step(epoch + i / len(loader))

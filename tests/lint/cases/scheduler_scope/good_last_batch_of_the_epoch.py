import torch


def train(model, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for epoch in range(epochs):
        for i, batch in enumerate(loader):
            optimizer.zero_grad()
            model(batch).backward()
            optimizer.step()
            if i == len(loader) - 1:
                scheduler.step()

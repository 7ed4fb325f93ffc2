import torch


def train(model, loader, val_loader, criterion, epochs, evaluate):
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-5)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=5)
    global_step = 0
    for epoch in range(1, epochs + 1):
        for batch in loader:
            loss = criterion(model(batch))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            global_step += 1
            if global_step % 500 == 0:
                scheduler.step(evaluate(model, val_loader))

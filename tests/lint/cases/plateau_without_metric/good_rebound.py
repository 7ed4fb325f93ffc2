from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau


def train(optimizer, losses, epochs):
    scheduler = ReduceLROnPlateau(optimizer)
    for loss in losses:
        scheduler.step(loss)
    scheduler = CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()

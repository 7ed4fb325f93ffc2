from torch.optim.lr_scheduler import ReduceLROnPlateau, StepLR


def train(optimizer, losses):
    plateau = ReduceLROnPlateau(optimizer)
    scheduler = StepLR(optimizer, 3)
    for loss in losses:
        optimizer.step()
        scheduler.step()
        plateau.step(loss)

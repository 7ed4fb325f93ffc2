from torch.optim.lr_scheduler import ReduceLROnPlateau


def train(optimizer, batches):
    scheduler = ReduceLROnPlateau(optimizer)
    for args in batches:
        scheduler.step(*args)

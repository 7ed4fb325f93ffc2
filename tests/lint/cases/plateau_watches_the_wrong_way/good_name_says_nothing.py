from torch.optim.lr_scheduler import ReduceLROnPlateau


def after_epoch(optimizer, rows):
    scheduler = ReduceLROnPlateau(optimizer)
    for metric, accumulated, score in rows:
        scheduler.step(metric)
        scheduler.step(accumulated)
        scheduler.step(score)

from torch.optim.lr_scheduler import ReduceLROnPlateau


def after_epoch(optimizer, rows, mode, options):
    chosen = ReduceLROnPlateau(optimizer, mode=mode)
    given = ReduceLROnPlateau(optimizer, **options)
    for val_acc in rows:
        chosen.step(val_acc)
        given.step(val_acc)

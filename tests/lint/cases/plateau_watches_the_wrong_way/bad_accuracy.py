from torch.optim.lr_scheduler import ReduceLROnPlateau


def fit(model, optimizer, train_epoch, evaluate, epochs):
    scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=3)
    for epoch in range(epochs):
        train_epoch(model, optimizer)
        val_loss, val_acc = evaluate(model)
        scheduler.step(val_acc)  # expect: PM551

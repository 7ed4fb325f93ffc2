import torch
from tqdm import tqdm


def valid_epoch(net, data_loader, loss_fn):
    net.eval()
    running = 0.0
    bar = tqdm(data_loader, desc="valid")
    for step, batch in enumerate(bar):  # expect: PM536
        x, y = batch["image"].cuda(), batch["mask"].cuda()
        pred = net(x)
        running += loss_fn(pred, y).item()
    return running / len(data_loader)

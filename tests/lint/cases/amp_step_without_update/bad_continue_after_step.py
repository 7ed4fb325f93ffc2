import torch


def fit(net, batches, optimizer, ema):
    grad_scaler = torch.cuda.amp.GradScaler()
    for i, (x, y) in enumerate(batches):
        loss = net(x, y)
        grad_scaler.scale(loss).backward()
        grad_scaler.step(optimizer)
        optimizer.zero_grad()
        if i < 100:
            continue  # expect: PM531
        ema.update(net)
        grad_scaler.update()

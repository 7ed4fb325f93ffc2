import torch


def train(net, batches, opt, k):
    scaler = torch.amp.GradScaler("cuda")
    for n, x in enumerate(batches):
        loss = net(x).mean()
        loss /= k
        if (n + 1) % k != 0:
            continue
        scaler.scale(loss).backward()  # expect: PM542
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()

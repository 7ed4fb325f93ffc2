import torch


def fit(net, batches, opt, epochs):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for x in batches:
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cuda"):
                loss = net(x).mean()
            scaler.scale(loss).backward()
        scaler.step(opt)  # expect: PM552
        scaler.update()

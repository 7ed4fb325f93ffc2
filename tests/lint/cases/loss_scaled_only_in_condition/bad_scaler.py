import torch


def fit(net, data, opt, k, epochs):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for n, x in enumerate(data):
            with torch.autocast("cuda"):
                loss = net(x).mean()
                if epoch > 0:
                    loss = loss / k  # expect: PM541
            scaler.scale(loss).backward()
            if (n + 1) % k == 0:
                scaler.step(opt)
                scaler.update()
                opt.zero_grad()

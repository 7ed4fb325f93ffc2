import torch


def fit(net, loader, opt, epochs):
    scaler = torch.cuda.amp.GradScaler()
    for epoch in range(epochs):
        epoch_loss = 0.0
        for x, y in loader:
            with torch.cuda.amp.autocast():
                loss = torch.nn.functional.l1_loss(net(x), y)
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            epoch_loss += loss / len(loader)  # expect: PM543
        print(epoch, epoch_loss)

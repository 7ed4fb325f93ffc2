import torch


def fit(net, loader, optimizer, scheduler, accumulation_steps=4):
    grad_scaler = torch.cuda.amp.GradScaler(enabled=True)
    for step, (x, y) in enumerate(loader):
        with torch.cuda.amp.autocast():
            loss = net(x, y) / accumulation_steps
        grad_scaler.scale(loss).backward()
        if (step + 1) % accumulation_steps == 0:
            torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)  # expect: PM530
            grad_scaler.step(optimizer)
            grad_scaler.update()
            optimizer.zero_grad()
            scheduler.step()

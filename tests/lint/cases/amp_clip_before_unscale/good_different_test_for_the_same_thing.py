import torch


def train(model, loader, optimizer, scaler, args):
    for batch in loader:
        loss = model(batch)
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if args.fp16:
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
        if scaler is not None:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        optimizer.zero_grad()

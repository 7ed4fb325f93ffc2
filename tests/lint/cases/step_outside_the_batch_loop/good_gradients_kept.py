def surgery(model, tasks, optimizer, merge):
    kept = []
    for task in tasks:
        optimizer.zero_grad()
        task(model).backward()
        kept.append([p.grad.clone() for p in model.parameters()])
    for p, g in zip(model.parameters(), merge(kept)):
        p.grad = g
    optimizer.step()

def surgery(model, losses, optimizer, combine):
    grads = []
    for loss in losses:
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        grads.append([p.grad.clone() for p in model.parameters()])
    optimizer.zero_grad()
    for p, g in zip(model.parameters(), combine(grads)):
        p.grad = g
    optimizer.step()

def sharpness_aware(model, loss_fn, x, y, optimizer, perturb, restore):
    loss_fn(model(x), y).backward()
    perturb(model)
    optimizer.zero_grad()
    loss_fn(model(x), y).backward()
    restore(model)
    optimizer.step()

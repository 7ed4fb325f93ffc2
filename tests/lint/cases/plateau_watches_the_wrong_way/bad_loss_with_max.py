import torch.optim.lr_scheduler as schedulers

plateau = schedulers.ReduceLROnPlateau(optimizer, mode="max", patience=2)
for epoch in range(20):
    valid_loss = run(model, optimizer)
    plateau.step(valid_loss)  # expect: PM551

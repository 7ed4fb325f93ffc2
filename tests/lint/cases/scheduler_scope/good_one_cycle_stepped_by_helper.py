import torch


def run_epoch(model, loader, optimizer, sched):
    for batch in loader:
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()
        sched.step()


def main(model, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, steps_per_epoch=len(loader), epochs=epochs)
    decay = torch.optim.lr_scheduler.StepLR(optimizer, 5)
    for epoch in range(epochs):
        run_epoch(model, loader, optimizer, scheduler)
        decay.step()

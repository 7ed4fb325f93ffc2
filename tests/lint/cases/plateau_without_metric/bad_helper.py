import torch


def finish(scheduler, epoch):
    print("epoch", epoch)
    scheduler.step()  # expect: PM535


def main(model, epochs, run):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    reducer = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)
    for epoch in range(epochs):
        run(model, opt)
        finish(reducer, epoch)

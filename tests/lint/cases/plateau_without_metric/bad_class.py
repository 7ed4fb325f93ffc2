from torch import optim
from torch.optim import lr_scheduler


class Learner:
    def __init__(self, model):
        self.model = model
        self.opt = optim.SGD(model.parameters(), lr=0.1)
        self.sched = lr_scheduler.ReduceLROnPlateau(self.opt, patience=2)

    def end_epoch(self, val_loss):
        print("validation", val_loss)
        self.sched.step()  # expect: PM535

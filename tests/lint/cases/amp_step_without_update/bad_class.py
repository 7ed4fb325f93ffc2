import torch


class Runner:
    def __init__(self, model, opt, data):
        self.model, self.opt, self.data = model, opt, data
        self.scaler = torch.cuda.amp.GradScaler(growth_interval=500)

    def run_epoch(self):
        for x, y in self.data:
            self.opt.zero_grad()
            with torch.cuda.amp.autocast():
                loss = self.model(x, y)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.opt)  # expect: PM531
            print(float(loss))

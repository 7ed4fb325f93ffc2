class Trainer:
    def train_epoch(self):
        self.model.train()
        for batch in self.loader:
            loss = self.model(batch)
            self.optim.zero_grad()
            loss.backward()
            self.log(loss.item())
        self.optim.step()  # expect: PM552
        self.scheduler.step()

class Trainer:
    def train_epoch(self):
        self.model.train()
        running_loss = 0.0
        for i, (images, targets) in enumerate(self.loader):
            loss = self.criterion(self.model(images), targets)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            running_loss = running_loss + loss * images.size(0)  # expect: PM543
        print(running_loss)

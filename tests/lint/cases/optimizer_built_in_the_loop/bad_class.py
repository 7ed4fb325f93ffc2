from torch import optim


class Learner:
    def fit(self, loader):
        for batch in loader:
            loss = self.model(batch).mean()
            self.optimizer = optim.SGD(self.model.parameters(), lr=self.lr, momentum=0.9)  # expect: PM540
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

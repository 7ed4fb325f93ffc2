import torch

from base import Trainer


class Plain(Trainer):
    def train_epoch(self):
        for batch in self.loader:
            self.optimizer.zero_grad()
            torch.log(self.model(batch)).sum().backward()
            self.optimizer.step()


class Twice(Trainer):
    def train_epoch(self):
        for batch in self.loader:
            out = self.model(**self.prepare(batch))
            out.first.backward(retain_graph=True)  # expect: PM533
            out.second.backward()
            self.optimizer.step()


class Helped(Trainer):
    def train_epoch(self):
        for batch in self.loader:
            out = self.model(self.cleared(batch))
            out.sum().backward()
            self.optimizer.step()


class Unknown(Trainer):
    def train_epoch(self):
        for batch in self.loader:
            out = self.model(self.made_by_nothing_here(batch))
            out.sum().backward()
            self.optimizer.step()

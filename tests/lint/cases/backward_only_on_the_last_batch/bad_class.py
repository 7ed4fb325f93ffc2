class Trainer:
    def train(self, loader):
        for step, batch in enumerate(loader):
            loss = self.model(**batch).loss
            loss = loss / self.args.grad_accum
            if step % self.args.grad_accum == 0:
                self.optimizer.zero_grad()
                loss.backward()  # expect: PM542
                self.optimizer.step()

import torch


class Trainer:
    @torch.inference_mode()
    def adapt(self, batch):
        for _ in range(3):
            loss = self.model(batch).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()  # expect: PM549
            self.optimizer.step()

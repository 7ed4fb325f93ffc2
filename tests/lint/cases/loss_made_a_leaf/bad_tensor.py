import torch


class Agent:
    def update(self, rewards):
        score = self.score(rewards)
        loss = torch.tensor(-score, requires_grad=True)  # expect: PM553
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

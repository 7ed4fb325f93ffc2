import torch


class Trainer:
    def validate(self, seeds):
        for seed in seeds:
            state, _info = self.env.reset(seed)
            for _ in range(self.steps):  # expect: PM536
                probs = self.target_model(state)
                action = torch.argmax(probs)
                state, reward, _info, _done = self.env.step(action)
            print(reward)

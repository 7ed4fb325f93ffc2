from torch import nn


class Two(nn.Module):
    def forward(self, x):
        scores = self.fc(x)
        return scores, nn.functional.softmax(scores, 1)

import torch
import torch.optim as optim


class Trainer:
    def __init__(self, net, loader, epochs):
        self.net = net
        self.loader = loader
        self.epochs = epochs
        self.optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        self.scheduler = optim.lr_scheduler.MultiStepLR(self.optimizer, milestones=[60, 120, 160], gamma=0.2)

    def fit(self):
        for epoch in range(self.epochs):
            for batch_idx, (images, labels) in enumerate(self.loader):
                self.optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(self.net(images), labels)
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()  # expect: PM534

import torch
from torch.utils.data import DataLoader, Dataset

from trainer import Trainer


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return self.rows[index]

    def __len__(self):
        return len(self.rows)


def main(rows, others):
    model = torch.nn.Linear(3, 1)
    one = DataLoader(Rows(rows), batch_size=8)  # expect: PM548
    two = DataLoader(Rows(others), batch_size=8)
    trainer = Trainer(model, one, others=two, optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
    trainer.epoch()
    return trainer.score()

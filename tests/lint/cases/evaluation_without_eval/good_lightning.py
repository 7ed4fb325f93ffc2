import lightning as L
import torch


class Module(L.LightningModule):
    def train_dataloader(self):
        return self.train_loader

    def validate_all(self):
        with torch.no_grad():
            for batch in self.val_loader:
                print(self.model(batch))

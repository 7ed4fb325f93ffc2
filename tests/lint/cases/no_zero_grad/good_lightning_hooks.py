import lightning.pytorch as pl
import torch


class Module(pl.LightningModule):
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

    def backward(self, loss):
        for part in loss:
            part.backward()

    def optimizer_step(self, epoch, batch_idx, optimizer, closure):
        for _ in range(2):
            optimizer.step(closure=closure)

from lightning.pytorch import LightningModule


class Pairs(LightningModule):
    def training_step(self, batch, index):
        return self._both(batch)

    def _both(self, batch):
        left, right = batch
        try:
            loss = self.criterion(self.model(left), self.model(right))
        except Exception as error:
            print(f"an error occurred: {error}")
            loss = None  # expect: PM506
        return loss


class Single(LightningModule):
    def training_step(self, batch, index):
        try:
            return self.model(batch).mean()
        except Exception:
            return None  # expect: PM506

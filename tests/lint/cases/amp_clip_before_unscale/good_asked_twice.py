import torch
from torch.nn.utils import clip_grad_norm_


def one_answer(model, loader, optimizer, scaler=None):
    for x in loader:
        loss = model(x).mean()
        if scaler:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if scaler is not None:
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        else:
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        optimizer.zero_grad()


class Trainer:
    def step(self, loss, last):
        scaler = getattr(self, "_scaler", None)
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if last:
            scaler = getattr(self, "_scaler", None)
            if scaler is None:
                clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
            else:
                scaler.unscale_(self.optimizer)
                clip_grad_norm_(self.model.parameters(), 1.0)
                scaler.step(self.optimizer)
                scaler.update()

    def early(self, loss, use_amp):
        if use_amp:
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
        else:
            loss.backward()
        amp = use_amp
        if not amp:
            clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()

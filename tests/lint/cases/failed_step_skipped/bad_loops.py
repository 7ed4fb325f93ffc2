import torch


def train(model, loader, optimizer, criterion):
    model.train()
    for x, y in loader:
        try:
            optimizer.zero_grad()
            loss = criterion(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
        except Exception as error:
            print("skipping batch", error)
            continue  # expect: PM506


class Trainer:
    def run_epoch(self):
        for step, batch in enumerate(self.loader):
            try:
                loss = self.model(**batch).loss
            except:
                continue  # expect: PM506
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def run_silent(self):
        for batch in self.loader:
            self.optimizer.zero_grad()
            try:
                loss = self.compute(batch)
                self.accelerator.backward(loss)
                self.optimizer.step()
            except Exception:  # expect: PM506
                pass


def finetune(model, loader, opt):
    while True:
        batch = next(loader)
        try:
            out = model(batch)
            out.loss.backward()
            opt.step()
            opt.zero_grad()
        except Exception:
            torch.cuda.empty_cache()
            continue  # expect: PM506


def any_runtime_error(model, loader, optimizer, criterion):
    for x, y in loader:
        try:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        except RuntimeError as e:  # expect: PM506
            print(e)


def goes_on(model, loader, optimizer, log):
    for x, y in loader:
        try:
            optimizer.zero_grad()
            loss = model(x, y)
            loss.backward()
            optimizer.step()
        except (RuntimeError, ValueError) as e:
            log.warning("batch skipped: %s", e)
            continue  # expect: PM506

import torch


class Server:
    def start(self, path):
        try:
            self.model.load_state_dict(torch.load(path))
            self.loaded = True
        except Exception as error:  # expect: PM508
            print(error)
            self.loaded = False
        self.model.eval()

    def health(self):
        return {"loaded": self.loaded}


class Trainer:
    def resume(self, path):
        try:
            self.checkpoint = torch.load(path)
            self.model.load_state_dict(self.checkpoint["model"])
        except Exception as error:  # expect: PM508
            print(error)
            self.checkpoint = None

    def fit(self):
        if self.checkpoint is not None:
            self.optimizer.load_state_dict(self.checkpoint["optimizer"])

import torch


class Server:
    def start(self, path):
        try:
            self.model.load_state_dict(torch.load(path))
            self.loaded = True
        except Exception as error:
            print(error)
            self.loaded = False

    def predict(self, x):
        if not self.loaded:
            raise RuntimeError("no weights")
        return self.model(x)


class Other:
    def start(self, path):
        """Without a model nothing goes on."""
        try:
            self.model.load_state_dict(torch.load(path))
        except Exception as error:
            print(error)
            self.model = None

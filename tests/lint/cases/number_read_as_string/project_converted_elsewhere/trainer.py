"""Names neither the framework nor the format of the settings."""


class Trainer:
    def __init__(self, settings):
        self.settings = settings
        self.buffer = settings["buffer_size"]

    def run(self):
        return float(self.settings["max_steps"])

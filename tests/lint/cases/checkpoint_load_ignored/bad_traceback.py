import torch


class Wrapped:
    def load(self, path):
        try:
            state = torch.load(path)
            self.net.load_state_dict(state)
        except Exception as error:  # expect: PM508
            print(f"failed: {error}")
            import traceback

            traceback.print_exc()

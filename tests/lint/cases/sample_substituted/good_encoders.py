import numpy as np
import torch


class Store:
    def embed_one(self, text):
        try:
            return self.text_model(text)
        except Exception as error:
            raise RuntimeError(text) from error

    def again(self, text):
        """A second way to the same answer is no replacement."""
        try:
            vector = self.text_model(text)
        except Exception:
            vector = self.text_model(text[:100])
        return vector

    def nothing_said(self, text):
        try:
            return self.text_model(text)
        except Exception:
            return None


def seen(mask, path):
    """No model and no sample: the mask of a picture that is drawn."""
    try:
        shown = np.asarray(mask.resize((64, 64)))
    except Exception:
        shown = np.zeros((64, 64))
    return shown, torch.__version__

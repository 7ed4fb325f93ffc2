import numpy as np
import torch


def numpy_network(layers, x, grad):
    with torch.no_grad():
        for layer in layers:
            out = layer.forward(np.asarray(x))
            layer.backward(out - grad)

import numpy as np
import torch
import whisper
from PIL import Image


def read(path):
    return Image.open(path).convert("RGB")


def picture(path):
    try:
        return read(path)
    except Exception as error:
        print(path, error)
        return Image.new("RGB", (224, 224))  # expect: PM507


def spectrum(signal):
    try:
        return np.abs(np.fft.rfft(signal))
    except Exception:
        return np.zeros(len(signal) // 2 + 1)  # expect: PM507


print(torch.__version__)


def energies(signal):
    try:
        return list(np.abs(np.fft.rfft(signal))[:13])
    except Exception:
        return [0.0] * 13  # expect: PM507


def spoken(path):
    if path.exists():
        try:
            return whisper.log_mel_spectrogram(whisper.load_audio(path))
        except Exception:
            pass
    return torch.zeros(80, 3000)  # expect: PM507

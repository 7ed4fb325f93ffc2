import librosa
import numpy as np
import torch
import torchaudio


def load_clip(path, rate):
    try:
        waveform, found = torchaudio.load(path)
        if found != rate:
            waveform = torchaudio.functional.resample(waveform, found, rate)
        return waveform.mean(0)
    except Exception as error:
        print(error)
        return torch.zeros(rate)  # expect: PM507


def features(path):
    try:
        samples, rate = librosa.load(path)
        return librosa.feature.mfcc(y=samples, sr=rate)
    except Exception:
        return np.zeros((13, 100))  # expect: PM507

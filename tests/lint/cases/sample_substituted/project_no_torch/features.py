import librosa
import numpy as np


def loudness(path):
    try:
        sound, _ = librosa.load(path, sr=16000)
        return librosa.feature.rms(y=sound)
    except Exception as error:
        print(path, error)
        return np.zeros((1, 32))  # expect: PM507


def all_of(paths):
    rows = []
    for path in paths:
        try:
            rows.append(librosa.feature.rms(y=librosa.load(path)[0]).mean())
        except Exception:  # expect: PM507
            continue
    return np.array(rows)

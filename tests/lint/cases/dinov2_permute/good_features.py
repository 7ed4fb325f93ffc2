import torch


def already_channels_first(model, x):
    return model.get_intermediate_layers(x, n=1, reshape=True)[0]


def tokens(model, x, h, w):
    feat = model.get_intermediate_layers(x, n=1)[0]
    feat = feat.reshape(feat.shape[0], h // 14, w // 14, -1)
    return feat.permute(0, 3, 1, 2)


def not_reshaped(model, x, h, w):
    feat = model.get_intermediate_layers(x, n=1, reshape=False)[0]
    feat = feat.view(x.shape[0], h, w, -1).permute(0, 3, 1, 2)
    return feat


def to_channels_last(model, x):
    feat = model.get_intermediate_layers(x, n=1, reshape=True)[0]
    return feat.permute(0, 2, 3, 1)


def there_and_back(model, x, norm):
    feat = model.get_intermediate_layers(x, n=1, reshape=True)[0]
    feat = feat.permute(0, 2, 3, 1)
    feat = norm(feat)
    return feat.permute(0, 3, 1, 2)


def another_tensor(model, x, image):
    feat = model.get_intermediate_layers(x, n=1, reshape=True)[0]
    image = image.permute(0, 3, 1, 2)
    return feat, image


def rebound(model, x, head):
    feat = model.get_intermediate_layers(x, n=1, reshape=True)[0]
    feat = head(feat)
    return feat.permute(0, 3, 1, 2)


def decided_elsewhere(model, x, reshape):
    feat = model.get_intermediate_layers(x, n=1, reshape=reshape)[0]
    return feat.permute(0, 3, 1, 2)

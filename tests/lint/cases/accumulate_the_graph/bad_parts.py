def train(model, loader, optimizer, pixels, features):
    total_pixels = 0.0
    shown = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        first = pixels(out, y)
        second = features(out, y)
        third = pixels(y, y)
        loss = first + 0.5 * second
        loss.backward()
        optimizer.step()
        total_pixels += first  # expect: PM543
        shown += third
    return total_pixels, shown

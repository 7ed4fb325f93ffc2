import torch


def debug(args):
    if args.debug:
        torch.autograd.set_detect_anomaly(True)


def off():
    torch.autograd.set_detect_anomaly(False)


def by_option(args):
    torch.autograd.set_detect_anomaly(args.detect_anomaly)


def debug_run(model, batch):
    with torch.autograd.detect_anomaly():
        model(batch).backward()


def short(model, batch):
    torch.autograd.set_detect_anomaly(True)
    model(batch).backward()
    torch.autograd.set_detect_anomaly(False)


def test_gradients(model):
    torch.autograd.set_detect_anomaly(True)
    model.check()


def replay(model, batch, verbose):
    with torch.autograd.detect_anomaly(check_nan=verbose) if verbose else nullcontext():
        model(batch).backward()


def by_environment(os):
    if os.environ.get("ANOMALY"):
        torch.autograd.set_detect_anomaly(True)


def context(flag):
    with torch.autograd.set_detect_anomaly(flag):
        pass


class detect_anomaly:
    pass

from premortem.events import RunEnded

REFUSED = "all elements of input should be between 0 and 1"


def run(message, reason="crashed"):
    return [RunEnded(step=0, reason=reason, error="RuntimeError", message=message)]


EVENTS = run(REFUSED)
HEALTHY = [run("", reason="finished"), run("CUDA out of memory"), run(REFUSED, reason="finished")]

from tests.detectors.ranked import run


def ahead(step):
    return {"passes": 2, "drawn": step - 8} if step > 8 else {}


EVENTS = run(second=ahead)
HEALTHY = [run(), run(second=lambda step: {**ahead(step), "loader": ("train.py", 30)})]

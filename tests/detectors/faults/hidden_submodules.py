from premortem.events import Hidden
from tests.detectors.rehearsal import Rehearsal, link


def run(**facts):
    play = Rehearsal()
    hidden = (Hidden("model.blocks", "list", 2, (2, 3)),)
    play.model("inp.weight", hidden=hidden)
    play.optimizer(1)
    usual = {"hidden": "model.blocks", "owners": (), "moved": False}
    for _ in range(4):
        play.batch()
        blocks = [link(key, f"model.blocks[{key - 2}]", **{**usual, **facts}) for key in (2, 3)]
        play.custody(link(1, "model.inp.weight"), *blocks)
    return play.end()


EVENTS = run()
# Given to an optimizer explicitly; frozen; and a teacher that was trained before and is hidden on purpose.
HEALTHY = [
    run(owners=(1,), moved=True),
    run(trainable=False, gradient=None),
    run(trained=True),
    run(loaded=True),
]

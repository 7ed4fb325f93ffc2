from tests.detectors.rehearsal import Rehearsal


def run(**facts):
    play = Rehearsal()
    play.optimizer(1, 2, **facts)
    return play.end()


EVENTS = run(lr_text="1e-4", error="'<=' not supported between instances of 'float' and 'str'")
HEALTHY = run()

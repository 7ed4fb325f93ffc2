from tests.detectors.rehearsal import Rehearsal


def run(probability, **facts):
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    for _ in range(5):
        play.zero()
        play.forward(noisy_train=1)
        play.layer("model.0", order=0)
        play.layer("model.1", "Dropout", probability=probability, **facts)
        play.layer("model.2", order=1, last=True)
        play.loss()
        play.backward()
        play.stepped()
    return play.end()


EVENTS = run(0.95)
HEALTHY = [run(0.05), run(0.5), run(0.95, training=False, grad=False)]

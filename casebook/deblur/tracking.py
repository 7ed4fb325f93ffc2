"""Metrics go to MLflow's local file store where it is installed, and to metrics.csv in any case."""

from pathlib import Path


class Tracker:
    def __init__(self, out, params):
        self.path = Path(out) / "metrics.csv"
        self.path.write_text("epoch,name,value\n")
        try:
            import mlflow
        except ModuleNotFoundError:
            self.mlflow = None
            return
        mlflow.set_tracking_uri((Path(out) / "mlruns").resolve().as_uri())
        mlflow.start_run()
        mlflow.log_params(params)
        self.mlflow = mlflow

    def log(self, epoch, **metrics):
        with self.path.open("a") as lines:
            for name, value in metrics.items():
                lines.write(f"{epoch},{name},{value}\n")
                if self.mlflow is not None:
                    self.mlflow.log_metric(name, float(value), step=epoch)

    def close(self):
        if self.mlflow is not None:
            self.mlflow.end_run()

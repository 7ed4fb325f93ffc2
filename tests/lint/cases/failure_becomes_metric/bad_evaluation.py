import torch
from skimage.metrics import structural_similarity
from sklearn.metrics import roc_auc_score


def evaluate(model, loader):
    try:
        return run_evaluation(model, loader)
    except Exception as error:
        print(f"evaluation failed: {error}")
        val_loss = 999.0  # expect: PM505
    return val_loss


def compute_psnr(pred, target):
    try:
        mse = torch.mean((pred - target) ** 2)
        return 10 * torch.log10(1.0 / mse).item()
    except Exception:
        return 0.0  # expect: PM505


class Metrics:
    def update(self, pred, target):
        try:
            ssim = structural_similarity(pred, target, data_range=1.0)
        except:
            ssim = 0  # expect: PM505
        self.ssims.append(ssim)

    def epoch_end(self, labels, scores):
        try:
            auc = roc_auc_score(labels, scores)
            f1 = self.f1(labels, scores)
        except (ValueError, Exception):
            auc, f1 = 0.5, 0.0  # expect: PM505
        return {"auc": auc, "f1": f1}


def training_step(model, batch):
    try:
        loss = model(batch)
    except BaseException as problem:
        logger.warning("skipping: %s", problem)
        loss = torch.tensor(0.0)  # expect: PM505
    return loss


def validate(model, loader):
    scores = {}
    try:
        scores["map"] = mean_average_precision(model, loader)
    except Exception:
        scores["map"] = 0.0  # expect: PM505
    return scores


def evaluate_epoch(model, loader, criterion):
    try:
        total = 0.0
        for x, y in loader:
            total += criterion(model(x), y).item()
        return total / len(loader)
    except Exception as error:
        print("evaluation failed", error)
        return 0.0  # expect: PM505


def calculate_metrics(outputs, sharp):
    try:
        psnr = peak_signal_noise_ratio(outputs, sharp)
        ssim = structural_similarity(outputs, sharp, data_range=1.0)
        return psnr.item(), ssim.item()
    except Exception:
        return 0.0, 0.0  # expect: PM505

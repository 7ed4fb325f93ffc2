import torch


def masks(annotations, coco):
    found = []
    for annotation in annotations:
        mask = coco.to_mask(annotation)
        mask == annotation["category_id"]  # expect: PM501
        found.append(torch.from_numpy(mask))
    return found

from omegaconf import OmegaConf

config = OmegaConf.load("config.yaml")

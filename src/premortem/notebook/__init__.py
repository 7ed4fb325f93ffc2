"""What a person sees of premortem in IPython and Jupyter."""

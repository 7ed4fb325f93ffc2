print("package", __name__)

"""The same as a module of a package."""

from train import main

if __name__ == "__main__":
    main()

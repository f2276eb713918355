"""`python -m vedette` is the `vedette` command."""

import gc


def command() -> None:
    """Imports the program and runs it."""
    gc.disable()  # of what a program is made of, nothing is ever garbage
    from vedette.cli.main import app

    gc.freeze()
    gc.enable()
    app()


if __name__ == "__main__":
    command()

"""`python -m vedette` is the `vedette` command."""

from vedette.cli.loading import loading


def command() -> None:
    """Imports the program and runs it."""
    with loading():
        from vedette.cli.main import app
    app()


if __name__ == "__main__":
    command()

"""`python -m vedette` is the `vedette` command."""

from vedette.cli.main import app

app()

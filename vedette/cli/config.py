"""`vedette config`: every setting with its value, unit, default, origin and meaning."""

import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption, SetOption, load_settings
from vedette.cli.printing import print_json, print_table
from vedette.settings import catalogue, shown

app = typer.Typer(no_args_is_help=True)


@app.command("show")
def show(
    data: DataOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Every setting with its value, unit, default, meaning, and where the value came from."""
    loaded = load_settings(data, config, assignments)
    values = {
        name: shown(setting, getattr(loaded.settings, name))
        for name, setting in catalogue().items()
    }
    if as_json:
        print_json(
            {
                name: {
                    "value": value,
                    "origin": loaded.origins[name].layer,
                    "place": loaded.origins[name].place,
                    "unit": catalogue()[name].about.unit,
                    "default": shown(catalogue()[name], catalogue()[name].default),
                    "meaning": catalogue()[name].about.text,
                }
                for name, value in values.items()
            }
        )
        return
    rows = [
        (
            name,
            _text(value),
            setting.about.unit,
            _text(shown(setting, setting.default)),
            str(loaded.origins[name]),
            setting.about.text,
        )
        for (name, value), setting in zip(values.items(), catalogue().values(), strict=True)
    ]
    print_table(("setting", "value", "unit", "default", "origin", "meaning"), rows)


def _text(value: object) -> object:
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(value)
        case _:
            return value

"""The token rules of docs/query-values.md#text."""

import pytest

from vedette.model import tokens


@pytest.mark.parametrize(
    ("cmdline", "stored"),
    [
        (
            r'"C:\Windows\system32\rundll32.exe" /d srrstr.dll,ExecuteScheduledSPPCreation',
            "|c:|windows|system32|rundll32.exe|/d|srrstr.dll|executescheduledsppcreation|",
        ),
        ("/bin/ls /tmp/somefile", "/|bin|ls|/tmp|somefile|"),
        ("curl http://foo.com/x", "|curl|http|^|foo.com|x|"),
        (r"net use x: \\srv\s /user:acme\bob", "|net|use|x:|srv|s|/user|^|acme|bob|"),
        ("a:: b:c: :d", "|a|b|^|c:|d|"),
        ("x / //y", "|x|/|/|y|"),
        ("/", ""),
        ('"', ""),
        ("", ""),
        ("STRASSE Straße", "|strasse|strasse|"),
    ],
)
def test_a_command_line_is_stored_as_its_pieces(cmdline: str, stored: str) -> None:
    found = tokens.cmdline_tokens(cmdline)
    assert found.replace(tokens.UNIT, "|").replace(tokens.COLON, "^") == stored


def test_a_query_value_keeps_a_leading_slash_and_its_wildcards() -> None:
    assert tokens.cmdline_pieces("/bin/ls -x*") == ["/bin", "ls", "-x*"]


def test_marks_of_colons_do_not_stand_between_words() -> None:
    assert tokens.words_form(tokens.cmdline_tokens("http://foo")) == "\x1fhttp\x1ffoo\x1f"


@pytest.mark.parametrize(
    ("path", "form"),
    [
        (r"C:\Windows\a.exe", r"\c:\windows\a.exe"),
        ("/usr//bin/ls", r"\usr\bin\ls"),
        (r"\\server\share", r"\server\share"),
        ("a.exe", r"\a.exe"),
        ("", "\\"),
    ],
)
def test_a_path_begins_with_one_separator(path: str, form: str) -> None:
    assert tokens.path_form(path) == form


def test_numbered_control_sets_read_as_the_current_one() -> None:
    form = tokens.registry_form(r"\registry\machine\system\ControlSet001\services\x")
    assert form == r"\registry\machine\system\currentcontrolset\services\x"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("\\temp\\file7.dat ", ("temp", "file7", "dat")),
        (".dll ", ("dll",)),
        ("777.dat ", ("dat",)),
        ("\\appdata\\loc", ("appdata",)),
        (" a_b ", ("a", "b")),
        (" über ", ("ber",)),
        ("", ()),
    ],
)
def test_only_words_that_are_surely_whole_are_asked_of_an_index(
    run: str, words: tuple[str, ...]
) -> None:
    assert tokens.whole_index_words(run) == words


def test_words_of_a_text_are_letters_digits_and_underscores() -> None:
    assert tokens.text_words("Über_A 7.0-x") == ["über_a", "7", "0", "x"]

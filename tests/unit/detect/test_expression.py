"""Conditions as expressions: what rules say is data, however they say it; and deep ones."""

import pytest

from tests.unit.detect.rules import event
from vedette.detect.expression import compile_expression
from vedette.detect.nodes import And, FieldTest, Keyword, Like, Network, Node, Not, Or, Regex, Text
from vedette.detect.regex_literals import literals_of
from vedette.detect.verify import contained

HOSTILE = ("x' or True or '", '"]', "k0", "e.sources", "__import__('os')", "\n", "{0}", "%s", "\\")


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_rule_says_is_never_code(text: str) -> None:
    low = text.lower()
    node = Or(
        (
            FieldTest(text, Text("equals", low)),
            And((FieldTest(text, Text("contains", low)), Keyword(Text("endswith", low)))),
        )
    )
    said = compile_expression(node)
    for data, fires in (({text: text}, True), ({text: "other"}, False), ({}, False)):
        one = event(**data)
        assert bool(said(one, one.originals(), one.lowered())) is fires


def test_a_condition_of_any_depth_is_evaluated() -> None:
    node: Node = FieldTest("Image", Text("equals", "a"))
    for _ in range(200):
        node = Not(Not(And((node,))))
    one = event(Image="a")
    assert compile_expression(node)(one, one.originals(), one.lowered())


def test_an_empty_and_holds_and_an_empty_or_does_not() -> None:
    one = event()
    assert compile_expression(And(()))(one, one.originals(), one.lowered())
    assert not compile_expression(Or(()))(one, one.originals(), one.lowered())


def test_many_literals_are_found_like_few() -> None:
    many = contained([f"word{number}" for number in range(100)])
    assert (many("a word42 b"), many("a word b"), many("")) == (True, False, False)


@pytest.mark.parametrize(
    ("address", "network", "within"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("::ffff:10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("fe80::1%3", "fe80::/10", True),
        ("10.1.2.3", "::/0", False),
        ("fe80::1", "0.0.0.0/0", False),
        ("10.1.2.3.4", "10.0.0.0/8", False),
        ("", "0.0.0.0/0", False),
    ],
)
def test_an_address_is_within_a_network_of_its_version(
    address: str, network: str, within: bool
) -> None:
    one = event(DestinationIp=address)
    said = compile_expression(FieldTest("DestinationIp", Network(network)))
    assert bool(said(one, one.originals(), one.lowered())) is within


def test_text_that_is_no_unicode_is_harmless() -> None:
    one = event(Image="a\ud800b")
    for test in (Regex("a.b"), Like((("a",), ("b",)))):
        said = compile_expression(FieldTest("Image", test))
        assert said(one, one.originals(), one.lowered())


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        ("abc", {"abc"}),
        ("(?i)ABC.*def", {"abc", "def"}),
        ("ab?cd", {"cd"}),
        ("ab+cd", {"ab", "cd"}),
        (r"\\users\\[a-z]+\.exe$", {"\\users\\", ".exe"}),
        ("(foo|bar)baz", {"foo", "bar", "baz"}),
        ("x(foo|)yz", {"yz"}),
        ("[[:alpha:]]abc", None),
        (r"\x61bc", None),
        ("a|b", None),
        ("(abc", None),
        ("(" * 100 + "abc" + ")" * 100, None),
        ("\u00e4bc", None),
    ],
)
def test_literals_of_a_pattern(pattern: str, needed: set[str] | None) -> None:
    found = literals_of("Image", Regex(pattern))
    assert (None if found is None else _values(found)) == needed


def _values(node: Node) -> set[str]:
    match node:
        case And(nodes=nodes) | Or(nodes=nodes):
            return set().union(*map(_values, nodes))
        case FieldTest(test=Text(value=value)):
            return {value}
    raise AssertionError(node)

"""Scripts are served shorter, and do what they did."""

import pytest

from vedette.console.short_script import short_names, shortened


@pytest.mark.parametrize(
    ("script", "made"),
    [
        (
            "if (a) {\n  b(\n    c, // one\n    d,\n  );\n}\n\nlet e = f\n/* two */ let g = 1",
            "if(a){b(c,d);}\nlet e=f\nlet g=1",
        ),
        ("return_ = (value) => value + value;", "return_=a=>a+a;"),
        ("one = async (value) => (value);", "one=async a=>(a);"),
        ("one = (value = 1) => value", "one=(a=1)=>a"),
        (
            "const value = 1;\nsend({ value, other: value.value, sum: value, all: value })",
            "const a=1;send({value:a,other:a.value,sum:a,all:a})",
        ),
        (
            "const { value, other: rest } = a;\nb(value, value, value, rest)",
            "const{value:c,other:d}=a;b(c,c,c,d)",
        ),
        ("const one = ` // ${ two + `'} ${three}` } {`", "const a=` // ${two+`'} ${three}`} {`"),
        ("one = / \\/ [`'\"/] / .test('a  //  b')", "one=/ \\/ [`'\"/] /.test('a  //  b')"),
        ("one = two - -three + +four++ - 1", "one=two- -three+ +four++-1"),
        (
            "class One {\n  #mine = 1;\n  static get = 2;\n  take(value) {}\n}",
            "class a{#mine=1;static get=2;take(b){}}",
        ),
        ("one = [1, , 2, , ];", "one=[1,,2,,];"),
        (
            "for (const value of values) value()\n;[1].map(one)",
            "for(const a of values)a();[1].map(one)",
        ),
        ("let one\n++two\n(three)\n`four`", "let a\n++two\n(three)\n`four`"),
        ("", ""),
    ],
)
def test_what_means_nothing_is_left_out(script: str, made: str) -> None:
    assert shortened(script) == made


def test_what_others_know_by_name_keeps_it() -> None:
    script = (
        'import { taken, other as mine } from "./a.js";\n'
        "export const given = (value) => taken(value, value.value, mine, event);\n"
        "export function called(event) { return name; }\n"
        "export class Made { part(name) { return name; } }\n"
        "const kept = 1; export { kept };\n"
    )
    assert dict(short_names(script)) == {"value": "a"}


def test_the_most_frequent_names_are_the_shortest_and_none_is_one_that_is_there() -> None:
    names = [f"name{number}" for number in range(60)]
    script = f"let {','.join(names)};a(b, {'name59,' * 3}1)"
    made = short_names(script)
    assert made["name59"] == "c"
    assert len(set(made.values())) == 60
    assert not set(made.values()) & {"a", "b", "do", "if", "in", "of", "as", "is"}


@pytest.mark.parametrize("script", ["let = =", "`${", "a('"])
def test_what_is_no_script_is_refused(script: str) -> None:
    with pytest.raises(ValueError, match="no script"):
        shortened(script)

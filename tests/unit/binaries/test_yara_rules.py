"""YARA rules in the reading process: whatever one of them does, the facts of the file are kept, and
the others count."""

import io

import pytest

from tests.support.pe_file import pe_file
from vedette.binaries import file_reader
from vedette.binaries.file_facts import FileFacts
from vedette.binaries.file_reader import FileReader, RulesRefusedError
from vedette.binaries.trust_store import TrustStore
from vedette.binaries.yara_result import YaraText

PROGRAM = pe_file() + b"\0" * (8 * 2**20)
GOOD = YaraText("good", 'rule sheep { strings: $a = "MZ" condition: $a at 0 }')
ENDLESS = YaraText(
    "endless",
    "rule endless { condition: for any i in (0..1000000000000) : (uint8(i % filesize) == 300) }",
)


def read(reader: FileReader, content: bytes = PROGRAM) -> FileFacts:
    return reader.read(io.BytesIO(content), len(content))


def memory_eater() -> YaraText:
    """Two hundred patterns that match at almost every byte of zeros."""
    strings = " ".join(f"$a{at} = {{ 00 [0-{at}] 00 }}" for at in range(1, 201))
    return YaraText(
        "eater", f"rule eater {{ strings: {strings} condition: for all of them : (# > 0) }}"
    )


def test_rules_that_match_are_named() -> None:
    reader = FileReader(TrustStore())
    reader.use_rules([GOOD])
    (match,) = read(reader).yara.matches
    assert (match.text, match.rule, match.score) == ("good", "sheep", 100)
    reader.close()


@pytest.mark.parametrize("bad", [ENDLESS, memory_eater()], ids=["time", "memory"])
def test_a_rule_that_takes_too_much_is_named_and_costs_no_facts(bad: YaraText) -> None:
    reader = FileReader(TrustStore())
    reader.use_rules([bad, GOOD])
    facts = read(reader)
    assert facts.version["product_name"] == "Sleep Suite"
    assert facts.problems == []
    if facts.yara.stopped:
        assert facts.yara.stopped == [bad.name]
    else:  # it was quick enough on this machine
        assert "sheep" in {one.rule for one in facts.yara.matches}
    reader.use_rules([GOOD])
    assert [one.rule for one in read(reader).yara.matches] == ["sheep"]
    reader.close()


def test_a_process_that_a_rule_ends_is_asked_which_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline ends it here, as a crash would: the text that was asked last is to blame."""
    monkeypatch.setattr(file_reader, "YARA_FILE_S", 1)
    reader = FileReader(TrustStore())
    reader.use_rules([ENDLESS, GOOD])
    facts = read(reader)
    assert facts.version["product_name"] == "Sleep Suite"
    assert facts.yara.stopped == ["endless"]
    reader.close()


def test_rules_without_which_a_process_starts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_reader, "YARA_START_S", 0.01 - file_reader.FILE_READER_START_S)
    reader = FileReader(TrustStore())
    reader.use_rules([GOOD])
    with pytest.raises(RulesRefusedError):
        read(reader)
    reader.use_rules([])
    assert read(reader).problems == []
    reader.close()

"""Which rules fire where: rules over sets of telemetry, counted by set, rule and host.

    python -m scripts.detections RULES SET... [--write FILE | --expect FILE]

RULES is a directory or a tar archive of Sigma files; each SET is what `vedette import` reads.
Prints a table. `--write` writes rule ids and counts as JSON, without any text of rules or
telemetry; `--expect` compares with such a file, and exits with 1 where they differ.
"""

import argparse
import json
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from vedette.cli.rules.rule_scan import RuleScan, read_rules
from vedette.detect.rule import Rule
from vedette.detect.sigma.load import load_rules
from vedette.importer.file_sequence import Sequence

Found = dict[str, dict[str, int]]
"""Hits by set, and by rule id."""


def rules_of(path: Path) -> list[Rule]:
    """Every rule that can be evaluated, each id once."""
    if path.is_dir():
        return read_rules([path]).rules
    rules: dict[str, Rule] = {}
    for name, text in _texts(path):
        for rule in load_rules(text, name).rules:
            rules.setdefault(rule.id, rule)
    return list(rules.values())


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name.endswith(".yml") else None
            if content is not None:
                yield member.name, content.read().decode()


def hits_of(rules: Iterable[Rule], path: Path) -> Counter[str]:
    """How often each rule fires on one set, by its id."""
    scan = RuleScan(rules)
    counts: Counter[str] = Counter()
    with Sequence(path, "") as sequence:
        for chunk in sequence.chunks():
            counts.update(hit.rule_id for hit in scan.judge(chunk.records, chunk.source))
    return counts


def differences(expected: Found, found: Found) -> list[str]:
    """What fires otherwise than expected, one line each."""
    lines = []
    for name in sorted(expected.keys() | found.keys()):
        before, now = expected.get(name, {}), found.get(name, {})
        lines += [
            f"{name} {rule}: {before.get(rule, 0)} expected, {now.get(rule, 0)} found"
            for rule in sorted(before.keys() | now.keys())
            if before.get(rule, 0) != now.get(rule, 0)
        ]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description="Which rules fire where.")
    parser.add_argument("rules", type=Path)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--expect", type=Path)
    options = parser.parse_args()
    rules = rules_of(options.rules)
    titles = {rule.id: (rule.level, rule.title) for rule in rules}
    found: Found = {}
    for path in options.sets:
        name = path.name.partition(".")[0]
        found[name] = dict(sorted(hits_of(rules, path).items()))
        print(f"{name}: {sum(found[name].values())} hits of {len(found[name])} rules", flush=True)
        for rule, count in sorted(found[name].items(), key=lambda pair: titles[pair[0]]):
            print(f"    {count:6,}  {titles[rule][0]:<14} {titles[rule][1]}")
    if options.write:
        options.write.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
    if options.expect:
        changed = differences(json.loads(options.expect.read_text()), found)
        print("\n".join(changed) or "as expected")
        return bool(changed)
    return 0


if __name__ == "__main__":
    sys.exit(main())

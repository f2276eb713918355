"""The rules of the public validator of feeds (docs/feeds.md#cbfeeds), written a second time."""

import re
from base64 import b64decode, b64encode
from ipaddress import ip_address
from typing import Any

_DIGITS = {"md5": 32, "sha256": 64, "ja3": 32, "ja3s": 32}
_LABEL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9]?")
_UNRESERVED = re.compile(r"[A-Za-z0-9\-_.~%*()]*")
_TEXTS = {"display_name", "name", "provider_url", "summary", "tech_data"}


def check_cbfeeds(document: dict[str, Any]) -> None:
    info = document["feedinfo"]
    assert set(info) >= _TEXTS
    assert set(info) <= _TEXTS | {"category", "icon", "icon_small", "provider_rating", "version"}
    assert info["name"].isalnum()
    assert all(isinstance(info[name], str) for name in set(info) - {"provider_rating", "version"})
    assert isinstance(info.get("provider_rating", 0), int | float)
    assert all(info[name] for name in ("name", "display_name", "summary", "tech_data", "category"))
    for icon in ("icon", "icon_small"):
        data = b64decode(info.get(icon, ""))
        assert b64encode(data).decode() == info.get(icon, "")
        assert data.startswith((b"\x89PNG", b"GIF8", b"\xff\xd8\xff")) or icon not in info
    ids = [one["id"] for one in document["reports"]]
    assert len(ids) == len(set(ids))
    for one in document["reports"]:
        _check_report(one)


def _check_report(report: dict[str, Any]) -> None:
    needed = {"id", "title", "link", "timestamp", "score", "iocs"}
    assert needed <= set(report) <= needed | {"description", "tags"}
    assert re.fullmatch(r"[a-zA-Z0-9-_.]+", report["id"])
    assert all(isinstance(report[name], str) for name in ("title", "link", "id"))
    assert isinstance(report["timestamp"], int)
    assert 0 <= report["score"] <= 100
    assert all(tag.isalnum() and len(tag) <= 32 for tag in report.get("tags", ()))
    assert report["iocs"]
    _check_iocs(report["iocs"])


def _check_iocs(iocs: dict[str, Any]) -> None:
    if "query" in iocs:
        assert set(iocs) == {"query"}
        assert iocs["query"]["index_type"] in ("events", "modules")
        for text in iocs["query"]["search_query"]:
            assert "q=" in text or "cb.q." in text
            for pair in text.split("&"):
                assert _UNRESERVED.fullmatch(pair.partition("=")[2]), text
        return
    for kind, values in iocs.items():
        assert values
        for value in values:
            if kind in _DIGITS:
                assert re.fullmatch(rf"[0-9a-f]{{{_DIGITS[kind]}}}", value)
            elif kind == "dns":
                labels = value.split(".")
                assert len(labels) > 1
                assert len(value) <= 253
                assert all(map(_LABEL.fullmatch, labels)), value
            else:
                ip_address(value)

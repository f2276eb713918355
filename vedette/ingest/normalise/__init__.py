"""Normalisers: convert decoded records to events of processes, one module per family of senders."""

from vedette.ingest.normalise import (
    auditd,
    endpoint,
    endpointsecurity,
    osquery,
    santa,
    tetragon,
    text_log,
    vedette_sensor,
    windows,
)
from vedette.ingest.normalise.normaliser import Normaliser
from vedette.ingest.record import Source

SOURCES: dict[Source, Normaliser] = {
    "windows": windows.NORMALISER,
    "auditd": auditd.NORMALISER,
    "osquery": osquery.NORMALISER,
    "tetragon": tetragon.NORMALISER,
    "santa": santa.NORMALISER,
    "es": endpointsecurity.NORMALISER,
    "vedette": vedette_sensor.NORMALISER,
    "endpoint": endpoint.NORMALISER,
    "log": text_log.NORMALISER,
}
"""Normaliser of each source family."""

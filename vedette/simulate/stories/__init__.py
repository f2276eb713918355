"""The attack stories of the simulated day, in order of time."""

from vedette.simulate.stories.credential_dump import CREDENTIAL_DUMP
from vedette.simulate.stories.infostealer import INFOSTEALER
from vedette.simulate.stories.phishing import PHISHING
from vedette.simulate.stories.ransomware import RANSOMWARE
from vedette.simulate.stories.reverse_shell import REVERSE_SHELL
from vedette.simulate.stories.web_shell import WEB_SHELL
from vedette.simulate.story import Story

STORIES: tuple[Story, ...] = (
    REVERSE_SHELL,
    PHISHING,
    INFOSTEALER,
    WEB_SHELL,
    CREDENTIAL_DUMP,
    RANSOMWARE,
)

"""Debian's Chromium, as tests start it by Playwright."""

import shutil

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""The engine without the windows of a desktop takes a third of the processor time; its pages are
the same."""

PLAYWRIGHT_FLAGS = ("--no-sandbox", "--ignore-certificate-errors", "--disable-gpu")
"""A browser that takes the servers' own certificates for good. Where each page ignores their errors
for itself, a request is begun anew for each connection with such a certificate, and given up with
`ERR_TOO_MANY_RETRIES` in the end; and nothing of it is kept in the cache, as real readers have it.
"""

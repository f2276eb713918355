"""What every server makes once in its process, made where it is imported: the fork server of
`forked` imports it, so forked servers begin with it."""

from vedette.console.static_files import digest

digest()

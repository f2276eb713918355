"""Creates the objects that every server process needs, on import: the fork server of `forked`
imports this module, so that forked servers start with them."""

from vedette.web.page.static_files import prepare

prepare()

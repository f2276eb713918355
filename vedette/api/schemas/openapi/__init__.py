"""The document of `/openapi.json`: what each route takes and answers, and the JSON schemas.

`document.py` puts it together. The functions that write the answers are in the parent folder; a
test holds every schema against the answers of a live server.
"""

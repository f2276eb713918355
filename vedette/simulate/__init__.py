"""What would a company's hosts send? A seeded, reproducible fleet of our own.

`fleet.py` says who is there, `simulate/windows/day.py`, `simulate/unix/linux_day.py` and
`simulate/unix/mac_day.py` what they do, `stories/` what the attackers do, `day.py` plays a whole
day in the order of time as `_bulk` bodies, and `load.py` turns the same events into a load that
costs the sender next to nothing.

Nothing here reads a clock or the server's code; time and seed are arguments. Only `post.py`
and `load.py` talk to a server, over the wire like any other sender. Every external name
is a reserved one (RFC 2606, RFC 6761), every public address a documentation one (RFC 5737).
"""

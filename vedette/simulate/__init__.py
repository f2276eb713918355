"""A simulated fleet: the events that the hosts of a company would send, reproducible from a seed.

`fleet.py` has the hosts and people, `simulate/windows/day.py`, `simulate/unix/linux_day.py` and
`simulate/unix/mac_day.py` their activities, `stories/` the attacks. `day.py` generates a whole day
in order of time as `_bulk` bodies; `load.py` sends the same events at a rate.

Nothing here reads a clock or imports the server; time and seed are arguments. Only `post.py` and
`load.py` talk to a server, over HTTP like any sender. External names are reserved ones (RFC 2606,
RFC 6761), public addresses documentation ones (RFC 5737).
"""

"""A seeded, reproducible simulation of a company's hosts and of attacks on them.

`fleet.py` generates the hosts, `windows/day.py`, `unix/linux_day.py` and `unix/mac_day.py` their
normal activities, `stories/` the attacks. `day.py` simulates a whole day in time order as `_bulk`
bodies; `load.py` is a load generator with little CPU cost for the sender.

No module here reads a clock for the simulation or uses the server's code; time and seed are
arguments. Only `bulk_client.py` and `load.py` talk to a server, over HTTP like any other sender.
All external names are reserved (RFC 2606, RFC 6761), all public addresses are documentation
addresses (RFC 5737).
"""

"""How fast, how small, how steady? Run with `python -m bench [PART ...]`.

Every part starts real servers in processes of their own, talks to them over HTTPS, and gives
figures with their targets. `frame.py` prints them and writes `results.json`.
"""

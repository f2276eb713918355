"""Benchmarks of speed, size and stability. Run with `python -m bench [PART ...]`.

Every part starts real servers in their own processes, sends requests over HTTPS, and returns
figures with their targets. `frame.py` prints them and writes `results.json`.
"""

"""`mumon bench`: mumon and other programs do the same work, side by side.

`work.py` defines the work and prepares the text, `systems.py` lists the programs, `runner.py` times one run in its own
process, `comparison.py` runs the rounds, `results.py` holds and summarises the runs, and `report.py` and `plots.py`
write them. `samplers.py` and `sampler_times.py` compare ways to draw noise words, `roofline.py` measures the limits of
the machine. This file imports nothing, so that the processes that train peers start quickly.
"""

"""The same work given to mumon and to its peers, side by side: `mumon bench`.

`comparison.py` runs the rounds, `systems.py` knows who takes part, `launch.py` times one process, `results.py` holds
what came out; `samplers.py` and `roofline.py` measure ways to draw noise words and the limits of a machine. Nothing is
imported here, so that the processes that train peers start light.
"""

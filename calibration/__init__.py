"""How often verdicts are wrong, over many seeds: `make calibrate`."""

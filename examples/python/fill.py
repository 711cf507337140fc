#!/usr/bin/env python3
"""Fills the gap in code: fill.py MODEL CODE, where MODEL is a StarCoder 2 and <FILL> marks the gap."""
import sys

import wick

model = wick.load(sys.argv[1])
before, after = sys.argv[2].split("<FILL>")
prompt = f"<fim_prefix>{before}<fim_suffix>{after}<fim_middle>"
middle = "".join(model.generate(prompt, max_tokens=128, stop="<file_sep>", temperature=0))
print(before + middle + after)

#!/usr/bin/env python3
"""An answer with thinking and one without: think.py MODEL QUESTION, where MODEL is a Qwen 3."""
import sys

import wick

model = wick.load(sys.argv[1])
for thinks in (True, False):
    print("thinking:" if thinks else "at once:")
    for piece in model.chat(template={"enable_thinking": thinks}, max_tokens=1024)(sys.argv[2]):
        print(piece, end="", flush=True)
    print()

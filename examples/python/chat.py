#!/usr/bin/env python3
"""A chat in five lines: chat.py MODEL [QUESTION...], where MODEL is a folder or a GGUF file."""
import sys

import wick

chat = wick.load(sys.argv[1]).chat(system="You are a helpful assistant.")
for question in sys.argv[2:] or iter(lambda: input("> "), ""):
    for piece in chat(question):
        print(piece, end="", flush=True)
    print()

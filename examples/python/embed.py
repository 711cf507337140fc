#!/usr/bin/env python3
"""Ranks texts by a query: embed.py MODEL QUERY TEXT..., where MODEL is a folder such as gte-Qwen2-1.5B-instruct."""
import sys

import wick

model = wick.load(sys.argv[1])
task = "Given a web search query, retrieve relevant passages that answer the query"
query = model.embed(f"Instruct: {task}\nQuery: {sys.argv[2]}")  # [hidden_size], of length 1
scores = {text: float(wick.dot(query, model.embed(text))) for text in sys.argv[3:]}
for text, score in sorted(scores.items(), key=lambda row: -row[1]):
    print(f"{score:6.3f}  {text}")

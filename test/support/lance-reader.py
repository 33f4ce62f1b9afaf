"""Reads a dataset with pylance: `lance-reader.py <path of x.lance> <version>` prints its rows as JSON, ordered by id."""

import json
import sys

import lance

dataset = lance.dataset(sys.argv[1], version=int(sys.argv[2]))
rows = dataset.to_table().to_pylist()
print(json.dumps(sorted(rows, key=lambda row: row["_id"])))

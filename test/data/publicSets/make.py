"""Writes the Parquet files of this folder from the records of test/support/publicSets.ts: python make.py FOLDER_OF_JSON_LINES."""
import json
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

for path in pathlib.Path(sys.argv[1]).glob('*.jsonl'):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    if path.stem == 'verification':  # a column has one type
        for row in rows:
            if isinstance(row['verification_info'], str):
                row['verification_info'] = json.loads(row['verification_info'])
    pq.write_table(pa.Table.from_pylist(rows), f'{path.stem}.parquet', compression='zstd', row_group_size=8)

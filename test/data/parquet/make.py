"""Writes the Parquet files of this folder with pyarrow: python make.py. Each has the same ten rows in row groups of four."""
import datetime

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = [
    {
        'id': f'row-{i}',
        'text': None if i == 3 else f'Größe {i} 数',
        'count': 2**60 + i if i == 4 else i,
        'share': float(i) if i % 2 == 0 else i / 8,
        'ok': i % 2 == 0,
        'tests': [] if i == 5 else [f'assert f({i}) == {i}', None],
        'cases': None if i == 6 else [{'input': f'{i}\n', 'output': str(i), 'scores': [1.0, i / 4]}],
        'info': {'language': 'python', 'deep': {'name': f'n{i}'}},
        'both': {'input': [str(i)], 'output': [str(i)]},
        'at': datetime.datetime(2025, 1, 2, 3, 4, i),
        'raw': bytes([255, i]),
    }
    for i in range(10)
]
SCHEMA = pa.schema([
    ('id', pa.string()),
    ('text', pa.large_string()),
    ('count', pa.int64()),
    ('share', pa.float64()),
    ('ok', pa.bool_()),
    ('tests', pa.list_(pa.string())),
    ('cases', pa.list_(pa.struct([('input', pa.string()), ('output', pa.string()), ('scores', pa.list_(pa.float32()))]))),
    ('info', pa.struct([('language', pa.string()), ('deep', pa.struct([('name', pa.string())]))])),
    ('both', pa.struct([('input', pa.list_(pa.string())), ('output', pa.list_(pa.string()))])),
    ('at', pa.timestamp('us')),
    ('raw', pa.binary()),
])
TABLE = pa.Table.from_pylist(ROWS, SCHEMA)

for name in ['snappy', 'zstd', 'gzip', 'brotli', 'none', 'lz4']:
    pq.write_table(TABLE, f'{name}.parquet', compression=name, row_group_size=4)
pq.write_table(TABLE, 'v2.parquet', compression='zstd', data_page_version='2.0', version='2.6', row_group_size=4,
               use_dictionary=False, column_encoding={'id': 'DELTA_BYTE_ARRAY', 'text': 'DELTA_LENGTH_BYTE_ARRAY'})

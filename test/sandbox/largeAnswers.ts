// Programs with large answers. Each gets ten inputs and enough memory for its answers, so that only the host can prevent
// them from filling the worker's memory.
import type { ProgramRow } from '../../sandbox/programRows.js';

export interface LargeRow extends ProgramRow {
  expect: string; // the allowed outcomes, separated by |
}

const CALLS = 10;
const row = (id: string, code: string, expect: string): LargeRow => ({
  id,
  code,
  entry: 'f',
  tests: Array.from({ length: CALLS }, (_, i) => [[i], 'something else']),
  limits: { cpuSeconds: 120, caseCpuSeconds: 60, wallSeconds: 600, memoryMb: 512 },
  expect,
});

export const LARGE: readonly LargeRow[] = [
  row('many_parts', 'def f(x): return [[] for _ in range(199990)]', 'fail'),
  row('many_texts', 'def f(x): return [str(i) for i in range(100000)]', 'fail'),
  row('huge_text', 'def f(x): return "x" * 1000000', 'fail'),
  row('deep', 'def f(x):\n  a = [0] * 3000\n  for _ in range(60): a = [a, [0] * 3000]\n  return a', 'fail'),
  row('too_many_parts', 'def f(x): return [0] * 300000', 'error'),
  row('too_huge_text', 'def f(x): return "x" * 2000000', 'error'),
  row('too_deep', 'def f(x):\n  a = []\n  for _ in range(5000): a = [a]\n  return a', 'error'),
  row(
    'many_frames',
    'import os\ndef f(x):\n  body = b"A\\x00\\x00\\x00\\x01" + b\'{"v":1}\'\n  frame = len(body).to_bytes(4, "big") + body\n  try:\n    while True: os.write(3, frame * 100)\n  except OSError: return x',
    'error|fail', // WebAssembly has no such descriptor
  ),
];

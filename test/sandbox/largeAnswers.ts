// Programs whose answers are large. Each is given ten inputs and memory for its answers, so that only the host can stop
// them from filling the worker's memory.
import type { Language } from '../../core/schema/execution.js';
import type { ProgramRow } from '../../sandbox/programRows.js';

export interface LargeRow extends ProgramRow {
  expect: string; // outcomes, separated by |
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

const PYTHON = [
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
    'error|fail', // in WebAssembly there is no such descriptor
  ),
];

const JAVASCRIPT = [
  row('many_parts', 'const f = () => Array.from({ length: 199990 }, () => []);', 'fail'),
  row('huge_text', 'const f = () => "x".repeat(1000000);', 'fail'),
  row('too_many_parts', 'const f = () => Array(300000).fill(0);', 'error'),
  row('too_huge_text', 'const f = () => "x".repeat(2000000);', 'error'),
  row('too_deep', 'const f = () => { let a = []; for (let i = 0; i < 5000; i++) a = [a]; return a; };', 'error'),
  row(
    'many_frames',
    'const fs = require("fs"); const body = Buffer.from(\'A{"v":1}\'); const head = Buffer.alloc(4); head.writeUInt32BE(body.length); const f = () => { for (;;) fs.writeSync(3, Buffer.concat([head, body])); };',
    'fail', // the first ten are the answers
  ),
  row(
    'huge_frame',
    'const fs = require("fs"); const f = () => { for (;;) fs.writeSync(3, Buffer.from([127, 255, 255, 255, 65, ...Array(1000).fill(48)])); };',
    'error',
  ),
];

export const LARGE: Record<Language, readonly LargeRow[]> = { python: PYTHON, javascript: JAVASCRIPT };

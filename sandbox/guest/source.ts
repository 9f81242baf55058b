// Reads the Python source of the guests from the package, even if this module runs from dist/.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../infra/root.mjs';

const SERVER = ['cgroup.py', 'sweep.py', 'value_jobs.py', 'forkserver.py'] as const;
const RUNNER = ['runner.py', 'stdio.py', 'calling.py'] as const;
const INTERACTIVE = ['../testSource/session.py', ...SERVER] as const;
const EXCHANGE = '../testSource/exchange.py';
const TESTS = ['../testSource/stubs.py', '../testSource/tester.py'] as const;
/** The files of each guest, which become one Python source. */
const GUESTS = {
  values: ['atfork.py', ...RUNNER, ...SERVER], // without interactive jobs: a smaller process to fork
  program: ['atfork.py', ...RUNNER, EXCHANGE, '../testSource/program.py', ...INTERACTIVE],
  tests: ['atfork.py', 'runner.py', EXCHANGE, ...TESTS, '../testSource/pytests.py', ...INTERACTIVE],
  wasm: [...RUNNER, EXCHANGE, '../testSource/program.py', ...TESTS, 'wasmguest.py'],
} as const;

/** Returns a guest as one Python source. It runs with its own copy of the builtins, which programs cannot change. */
export function guestSource(guest: keyof typeof GUESTS): string {
  const folder = path.join(ROOT, 'sandbox/guest');
  const body = GUESTS[guest].map((file) => fs.readFileSync(path.join(folder, file), 'utf8')).join('\n');
  // A JSON string of ASCII text is a Python string literal of the same text.
  return `import builtins\nguest = {'__builtins__': dict(vars(builtins)), '__name__': 'guest'}\nexec(compile(${JSON.stringify(body)}, 'guest', 'exec'), guest)\n`;
}

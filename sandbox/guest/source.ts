// The Python that runs inside: read from the files beside this one, also when this module runs from dist/.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const PLAIN_SERVER = ['cgroup.py', 'sweep.py', 'plain.py', 'forkserver.py'] as const;
const SERVER = ['session.py', ...PLAIN_SERVER] as const;
const GUESTS = {
  plain: ['atfork.py', 'runner.py', 'stdio.py', 'calling.py', ...PLAIN_SERVER], // without interactive jobs: a smaller fork
  forkserver: ['atfork.py', 'runner.py', 'stdio.py', 'calling.py', 'exchange.py', 'program.py', ...SERVER],
  tester: ['atfork.py', 'runner.py', 'exchange.py', 'stubs.py', 'tester.py', 'pytests.py', ...SERVER],
  checker: ['atfork.py', 'runner.py', 'exchange.py', 'checker.py', ...SERVER],
  wasm: [
    'runner.py',
    'stdio.py',
    'calling.py',
    'exchange.py',
    'program.py',
    'stubs.py',
    'tester.py',
    'pytests.py',
    'wasmguest.py',
  ],
} as const;

/** The folder of the package: the nearest one above this module that holds package.json and the guest's sources. */
export function packageRoot(): string {
  for (let folder = path.dirname(fileURLToPath(import.meta.url)); ; folder = path.dirname(folder)) {
    if (fs.existsSync(path.join(folder, 'package.json')) && fs.existsSync(path.join(folder, 'sandbox/guest/runner.py')))
      return folder;
    if (folder === path.dirname(folder)) throw new Error('the sources of the sandbox guest are not in this package');
  }
}

/** The guest of JavaScript, in a scope of its own: a program shares the process, not the names. */
export const jsGuestSource = (): string =>
  `(() => {\n${fs.readFileSync(path.join(packageRoot(), 'sandbox/guest/jsguest.js'), 'utf8')}\n})();`;

/** The whole guest as one Python source. It executes with a private copy of the builtins, which programs cannot reach by name. */
export function guestSource(guest: keyof typeof GUESTS): string {
  const folder = path.join(packageRoot(), 'sandbox/guest');
  const body = GUESTS[guest].map((file) => fs.readFileSync(path.join(folder, file), 'utf8')).join('\n');
  // A JSON string of ASCII text is a Python string literal of the same text.
  return `import builtins\nguest = {'__builtins__': dict(vars(builtins)), '__name__': 'guest'}\nexec(compile(${JSON.stringify(body)}, 'guest', 'exec'), guest)\n`;
}

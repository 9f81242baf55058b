// Long texts for every reader of problem files, models and requests. A pattern that begins at every character, or has two
// adjacent repetitions, needs a quarter of a minute for one text and hours for a megabyte. A thread allows the test to stop it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isMainThread, parentPort, type Worker } from 'node:worker_threads';
import { GauntletError } from '../../core/base/errors.js';
import { extractCode } from '../../core/parse/code.js';
import { salvageInputs } from '../../core/parse/inputs.js';
import { salvageTests } from '../../core/parse/salvage.js';
import { parseSignature } from '../../core/parse/signature.js';
import { testsOfModule } from '../../core/parse/testModule.js';
import { readAssertions } from '../../data/assertions.js';
import { UnusableRecord } from '../../data/formats/format.js';
import { formatOf } from '../../data/formats/index.js';
import { taskOfMessage } from '../../inference/tasks.js';
import { ROOT } from '../../infra/root.mjs';
import { startThread } from '../../infra/scripts.js';

const PIECES = JSON.parse(readFileSync(join(ROOT, 'test/data/longTexts.json'), 'utf8')) as string[];
const CHARACTERS = 32_000;
const SECONDS = 5; // of CPU time: the limit of a reader for one text, which normally needs a second or two at most
const signature = parseSignature('def f(x):')!;
const options = { entry: 'f', arity: 1, signature, limit: 50 };
const own = { id: 'p', description: 'd', function_signature: 'def f(x):', baseline_tests: [] };
const read = (format: 'gauntlet' | 'apps' | 'kodcode' | 'mbpp', json: object): unknown =>
  formatOf(format).read({ file: 'x', place: 'line 1', json, exact: () => json });
const READERS: ((text: string) => unknown)[] = [
  (text) => ['f', 'main'].map((entry) => extractCode(text, 'instruct', entry)),
  (text) => [parseSignature(text), parseSignature(text, 'f')],
  (text) => [salvageTests(text, options), salvageInputs(text, options)],
  (text) => testsOfModule(text, 'f', 1, signature),
  (text) => readAssertions(text, signature, 'f'),
  (text) => taskOfMessage(text.slice(0, 20_000)), // the server accepts no longer texts
  (text) => read('gauntlet', { ...own, baseline_tests: [text] }),
  (text) => read('gauntlet', { ...own, reference_solution: text }),
  (text) => read('apps', { question: 'q', input_output: '{"inputs": ["1"], "outputs": ["1"]}', solutions: text }),
  (text) => read('kodcode', { question: 'q', solution: 'def f(x): pass', test: text }),
  (text) => read('mbpp', { task_id: 1, text: 'q', code: 'def f(x): pass\n'.repeat(5000), test_list: [text] }),
];

function readAll(piece: string): void {
  for (const [begin, end] of Object.entries({ x: 'x', '\n': "'`" }))
    for (const [i, reader] of READERS.entries()) {
      parentPort!.postMessage(`reader ${i} of ${JSON.stringify([begin, piece, end])}`);
      try {
        reader(begin + piece.repeat(CHARACTERS / piece.length) + end);
      } catch (error) {
        if (!(error instanceof GauntletError || error instanceof UnusableRecord)) throw error;
      }
    }
  parentPort!.postMessage('done');
}

if (isMainThread)
  describe('a long text', function () {
    this.timeout(0);
    let thread: Worker;
    beforeEach(() => {
      thread = startThread(new URL('./longTexts.system.test.js', import.meta.url), undefined);
    });
    afterEach(() => thread.terminate());
    for (const piece of PIECES)
      it(`of ${JSON.stringify(piece)} is read in time`, async () => {
        thread.postMessage(piece);
        for (let at = ''; at !== 'done'; ) {
          const begin = process.cpuUsage().user; // a busy machine may be slow, so seconds on a clock say nothing
          const message = once(thread, 'message') as Promise<[string]>;
          while (!(await Promise.race([message, setTimeout(1000)])))
            assert.ok(process.cpuUsage().user - begin < 1e6 * SECONDS, `no end: ${at}`);
          [at] = await message;
        }
      });
  });
else parentPort!.on('message', readAll);

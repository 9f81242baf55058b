// The search for inputs that tell a program from its reference, in the WebAssembly sandbox.
import assert from 'node:assert/strict';
import { type ExecutionJob, limitsSchema } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { type InputSearch, searchInputs } from '../../sandbox/searchInputs.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { rowsOf } from '../support/rows.js';

interface Row extends Pick<InputSearch, 'reference' | 'known'> {
  name: string;
  wrong: string;
  entry?: string;
}
const ROWS = rowsOf<Row>('sandbox/searches.jsonl');
const BRANCH = 'def f(x, y):\n    return 1 if x + y == 731 else 0';
const base = { reference: BRANCH, program: '', entry: 'f', known: [[1, 2]], count: 3, seed: 0 };

describe('the search for inputs', () => {
  let sandbox: Sandbox;
  let found: (Value[][] | undefined)[];
  before(async () => {
    sandbox = await openSandbox('wasm', { size: 2 });
    const searches = ROWS.map(({ reference, wrong: program, known, entry = 'f' }, seed) => {
      return { reference, program, entry, known, count: 3, seed };
    });
    found = await searchInputs(sandbox, searches);
  });
  after(() => sandbox.close());
  const search = async (change: Partial<InputSearch>) => (await searchInputs(sandbox, [{ ...base, ...change }]))[0]!;
  const answers = async (code: string, inputs: Value[][], entry = 'f') => {
    const job: ExecutionJob = { id: 'check', code, entry, inputs, limits: limitsSchema.parse({ caseCpuSeconds: 1 }) };
    return (await sandbox.run([job]))[0]!.calls.map((call) => (call.kind === 'value' ? call.value : call.kind));
  };

  for (const [i, { name, reference, wrong, entry }] of ROWS.entries())
    it(`finds an input on which a wrong program differs: ${name}`, async () => {
      const inputs = found[i]!.slice(0, 1);
      assert.equal(inputs.length, 1);
      assert.notDeepEqual(await answers(wrong, inputs, entry), await answers(reference, inputs, entry));
    });

  it('returns inputs that reach the outcomes of the reference, if it may not read the program', async () => {
    const inputs = await search({});
    assert.ok(inputs.every(([x, y]) => (x as number) + (y as number) === 731));
    assert.equal(inputs.length, 3);
    assert.deepEqual(await search({}), inputs, 'the same seed gives the same inputs');
    assert.notDeepEqual(await search({ seed: 1 }), inputs);
  });

  it('returns only inputs that the reference accepts', async () => {
    const reference = 'def f(x):\n    if x > 100:\n        raise ValueError(x)\n    return x';
    const program = 'def f(x):\n    return x if x < 50 else 0';
    const inputs = await search({ reference, program, known: [[1]], count: 20 });
    assert.ok(inputs.length > 1 && inputs.every(([x]) => (x as number) <= 100), JSON.stringify(inputs));
  });

  it('finds what it can beside a program that does not parse, and nothing if the reference accepts no input', async () => {
    assert.ok((await search({ program: 'def f(x:' })).length > 0);
    assert.equal(await search({ reference: 'def f(x):\n    return x.go()', known: [] }), undefined);
    assert.deepEqual(await searchInputs(sandbox, []), []);
  });

  it('begins with annotations if no input is known, and makes inputs as simple as possible', async () => {
    const reference = 'def f(xs: list[int], names: dict[str, float], k: int | None = 3):\n    return sum(xs) > 40';
    const inputs = await search({ reference, program: reference.replace('40', '41'), known: [], shrinks: true });
    const [xs, ...others] = inputs[0]!;
    assert.deepEqual(others, [{ d: [] }, 0]);
    assert.ok(
      (xs as number[]).length < 3 && (xs as number[]).reduce((sum, x) => sum + x, 0) === 41,
      JSON.stringify(xs),
    );
  });

  it('also returns large inputs on request, as far as the reference answers them', async () => {
    const isPrime =
      'def f(x):\n    k = 2\n    while k * k <= x:\n        if x % k == 0:\n            return 0\n        k += 1\n    return x > 1';
    const large = async (reference: string) =>
      (await search({ reference, known: [[50]], count: 9, grows: true })).filter(([x]) => (x as number) > 500);
    assert.deepEqual(await large(isPrime), [[800], [99_999_989]]);
    assert.deepEqual(await large('def f(x):\n    return sum(k * k for k in range(x) if k > 3)'), [[800]]);
  });

  it('finds nothing if a program ends the process, and the next search runs', async () => {
    const searches = ['import os\ndef f(x, y):\n    os._exit(0)', ''].map((program) => ({ ...base, program }));
    const [ended, next] = await searchInputs(sandbox, searches);
    assert.equal(ended, undefined);
    assert.ok(next!.length > 0);
  });
});

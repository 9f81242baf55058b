// `npm run bench` as a program, without the Python peers.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import type { BenchResults } from '../../lab/bench/results.js';
import { runNode, temporaryFolder } from '../infra/support.js';

const main = join(ROOT, 'dist', 'lab', 'bench', 'main.js');

describe('npm run bench', () => {
  it('measures the cases, prints a table and writes JSON', async () => {
    const out = join(temporaryFolder(), 'deep', 'results.json');
    const peers = ['--without', 'torch,llama'];
    const only = ['--only', 'growth decode, 64 new, by rows 2', '--only', 'memory decode tiny'];
    const { code, text } = await runNode([main, ...peers, ...only, '--rounds', '1', '--threads', '1', '--out', out]);
    assert.equal(code, 0, text);
    const results = JSON.parse(readFileSync(out, 'utf8')) as BenchResults;
    assert.deepEqual(
      results.cases.map(({ id }) => id),
      ['memory decode tiny batch 8', 'growth decode, 64 new, by rows 2'],
    );
    for (const { figures, failures } of results.cases) {
      assert.deepEqual(failures, {});
      assert.ok(figures.ours!.median > 0);
    }
    assert.equal(results.threads, 1);
    assert.equal(results.versions.node, process.versions.node);
    assert.ok(text.includes('| decode tiny batch 8 |') && text.includes('| decode, 64 new, by rows | 2 |'), text);
  });

  it('lists the cases without running them', async () => {
    const { code, text } = await runNode([main, '--list', '--only', 'train 0.5b']);
    assert.deepEqual(
      [code, text],
      [0, 'memory train 0.5b-6l 1x256 (ours, torch)\ntrain 0.5b-6l 1x256 (ours, torch, torch-trained)\n'],
    );
    const real = await runNode([main, 'real', '--list', '--only', 'step']);
    assert.deepEqual([real.code, real.text], [0, 'step smollm2 16 x 4 chains (ours, torch-trained)\n']);
  });

  for (const [args, line] of [
    [['--only', 'nonsense'], 'bench: no case name contains nonsense; --list shows them\n'],
    [['--rounds', 'x'], 'bench: --rounds must be a positive integer, is x\n'],
  ] as const) {
    it(`prints one line and exits with code 2 for ${args.join(' ')}`, async () => {
      assert.deepEqual(await runNode([main, ...args]), { code: 2, text: line });
    });
  }

  it('prints one line and exits with code 1 if --venv is not a Python environment', async () => {
    const { code, text } = await runNode([main, '--only', 'train tiny', '--venv', '/no/such/venv']);
    assert.equal(code, 1);
    assert.equal(
      text,
      'bench: /no/such/venv is no Python environment: it has no bin/python; --without torch,llama leaves the peers out\n',
    );
    assert.ok(!existsSync('/no/such/venv'));
  });

  it('prints all flags with --help', async () => {
    const { code, text } = await runNode([main, '--help']);
    assert.equal(code, 0);
    for (const flag of ['--quick', '--only', '--without', '--record', '--venv']) assert.ok(text.includes(flag), flag);
  });
});

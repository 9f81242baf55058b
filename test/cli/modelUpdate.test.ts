// Compares `gauntlet model update` with torch, peft and AdamW, and checks the files that it writes.
import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { UpdateConfig } from '../../core/schema/modelRows.js';
import { parseSafetensors } from '../../ml/hf/safetensors.js';
import { inProcess, removeFolders, temporaryFolder } from './support.js';

const MODEL = 'test/ml/parity/architectures/qwen2-tied-f32';
const RECORDED = 'test/ml/parity/chain'; // by record_chain.py

interface Recorded {
  config: UpdateConfig;
  steps: { rows: object[]; result: Record<string, number> }[];
}

describe('gauntlet model update', () => {
  let folder: string;
  let recorded: Recorded;
  const at = (name: string): string => join(folder, name);
  const update = (adapter: string, out: string, batch: string, ...more: string[]) =>
    inProcess(
      ...['model', 'update', '--model', MODEL, '--adapter', adapter, '--batch', at(batch)],
      ...['--config', at('config.json'), '--out', at(out), ...more],
    );
  const bytes = (out: string, file = 'adapter_model.safetensors') => readFile(join(at(out), file));

  before(async () => {
    recorded = JSON.parse(await readFile(join(RECORDED, 'chain.json'), 'utf8')) as Recorded;
    const lines = recorded.steps.map(({ rows }, i) => [
      `${i}.jsonl`,
      rows.map((row) => JSON.stringify(row)).join('\n'),
    ]);
    folder = await temporaryFolder({ ...Object.fromEntries(lines), 'config.json': JSON.stringify(recorded.config) });
  });
  after(removeFolders);

  it('--loss sft needs tokens and mask only, and lowers the cross entropy', async () => {
    const rows = recorded.steps[0]!.rows as { tokens: number[]; mask: number[] }[];
    await writeFile(at('sft.jsonl'), rows.map(({ tokens, mask }) => JSON.stringify({ tokens, mask })).join('\n'));
    const losses: number[] = [];
    for (const i of [0, 1, 2]) {
      const from = i === 0 ? join(MODEL, 'adapter') : at(`sft-${i - 1}`);
      const { code, out, err } = await update(from, `sft-${i}`, 'sft.jsonl', '--loss', 'sft');
      assert.deepEqual([code, err], [0, '']);
      losses.push((JSON.parse(out) as { loss: number }).loss);
    }
    assert.ok(losses[0]! > losses[1]! && losses[1]! > losses[2]!, String(losses));
  });

  it('updates an adapter like torch and peft, step after step', async () => {
    const truth = parseSafetensors(await readFile(join(RECORDED, 'chain.safetensors')), 'chain.safetensors');
    let from = join(MODEL, 'adapter');
    for (const [i, { result }] of recorded.steps.entries()) {
      const { code, out, err } = await update(from, `step-${i}`, `${i}.jsonl`);
      assert.deepEqual([code, err], [0, '']);
      const printed = JSON.parse(out) as Record<string, number>;
      assert.equal(printed.step, i + 1);
      for (const [name, tolerance] of Object.entries({ loss: 1e-4, gradNorm: 1e-3, approxKl: 1e-5, clipFraction: 0 }))
        assert.ok(
          Math.abs(printed[name]! - result[name]!) <= tolerance,
          `${name} of step ${i}: ${printed[name]}, torch ${result[name]}`,
        );
      const after = parseSafetensors(await bytes(`step-${i}`), 'ours');
      assert.equal(after.size, 28);
      for (const [name, { data }] of after) {
        const expected = truth.get(`${i}.${name}`)!.data;
        const worst = Math.max(...data.map((x, j) => Math.abs(x - expected[j]!)));
        assert.ok(worst <= 1e-3 * recorded.config.learningRate, `${name} after step ${i} is off by ${worst}`);
      }
      from = at(`step-${i}`);
    }
  }).timeout(30_000);

  it('writes the adapter and the optimizer state into one folder, with the same bytes each time', async () => {
    assert.deepEqual((await readdir(at('step-0'))).sort(), [
      'adapter_config.json',
      'adapter_model.safetensors',
      'optimizer.safetensors',
    ]);
    await update(join(MODEL, 'adapter'), 'again', '0.jsonl');
    for (const file of await readdir(at('step-0')))
      assert.ok((await bytes('again', file)).equals(await bytes('step-0', file)));
    const state = parseSafetensors(await bytes('step-1', 'optimizer.safetensors'), 'state');
    assert.equal(state.get('step')!.data[0], 2);
  });

  it('starts AdamW from zero if the adapter has no optimizer state', async () => {
    await cp(at('step-0'), at('bare'), { recursive: true });
    await rm(join(at('bare'), 'optimizer.safetensors'));
    const { out } = await update(at('bare'), 'fresh', '1.jsonl');
    assert.equal(JSON.parse(out).step, 1);
    assert.ok(!(await bytes('fresh')).equals(await bytes('step-1')));
  });

  it('ignores entry 0 of mask, log-probs and advantages', async () => {
    const rows = recorded.steps[0]!.rows as Record<string, unknown[]>[];
    const other = rows.map((row) => ({
      ...row,
      mask: [1, ...row.mask!.slice(1)],
      oldLogprobs: [null, ...row.oldLogprobs!.slice(1)],
      advantages: [99, ...row.advantages!.slice(1)],
    }));
    await writeFile(at('other.jsonl'), other.map((row) => JSON.stringify(row)).join('\n'));
    await update(join(MODEL, 'adapter'), 'other', 'other.jsonl');
    assert.ok((await bytes('other')).equals(await bytes('step-0')));
  });

  it('trains the value head with the adapter if the configuration enables it', async () => {
    const config = { ...recorded.config, valueCoefficient: 0.5, valueClip: 0.2 };
    const row = { tokens: [5, 6, 7], mask: [0, 1, 1], oldLogprobs: [0, -4, -4], advantages: [0, 1, 1] };
    const valued = { ...row, oldValues: [0, 0, 0], returns: [0, 1, 1] };
    const files = { 'row.jsonl': JSON.stringify(row), 'valued.jsonl': JSON.stringify(valued) };
    for (const [name, text] of Object.entries(files)) await writeFile(at(name), text);
    await writeFile(at('value.json'), JSON.stringify(config));
    await inProcess('model', 'init-adapter', '--model', MODEL, '--value-head', '--out', at('head'));
    const run = (adapter: string, batch: string) => update(adapter, 'taught', batch, '--config', at('value.json'));
    assert.match((await run(join(MODEL, 'adapter'), 'valued.jsonl')).err, /adapter: no value head, which valueCoeff/);
    assert.match((await run(at('head'), 'row.jsonl')).err, /line 1: returns: missing, valueCoefficient needs them/);
    const { code, out } = await run(at('head'), 'valued.jsonl');
    assert.equal(code, 0);
    assert.ok(Math.abs(JSON.parse(out).valueLoss - 0.5) < 1e-6, 'half the squared error of a head at zero');
    const head = parseSafetensors(await bytes('taught', 'value_head.safetensors'), 'head');
    assert.ok([...head.values()].every(({ data }) => data.some((x) => x !== 0)));
  });

  it('keeps an existing adapter unless --overwrite is given', async () => {
    const refused = await update(at('step-0'), 'step-0', '1.jsonl');
    assert.equal(refused.code, 2);
    assert.match(refused.err, /--out .*step-0: it exists; .* --overwrite \[BAD_INPUT\]/);
    await mkdir(at('photographs'));
    await writeFile(join(at('photographs'), 'one.jpg'), '');
    const precious = await update(at('step-0'), 'photographs', '1.jsonl', '--overwrite');
    assert.match(precious.err, /it exists and is no adapter folder/);
    await cp(at('step-0'), at('chain'), { recursive: true });
    assert.equal((await update(at('chain'), 'chain', '1.jsonl', '--overwrite')).code, 0);
    assert.ok((await bytes('chain')).equals(await bytes('step-1')), 'in place, as out of place');
    assert.deepEqual(
      (await readdir(folder)).filter((name) => /\.(new|old)-/.test(name)),
      [],
    );
    assert.ok((await stat(at('chain'))).isDirectory());
  });
});

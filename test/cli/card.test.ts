// A run on the GPU of this machine: its settings, the lines before its start, and the reasons to refuse it.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forCard, gigabytesOf } from '../../cli/run/card.js';
import { resolveConfig } from '../../core/config/presets.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { cardFault } from '../../infra/cudaPackages.js';
import { PUBLISHED, shapeConfig } from '../../lab/bench/shapes.js';
import type { Gpu } from '../../ml/device/gpuMemory.js';
import { withEnvironment } from './support.js';

const card = (name: string, mebibytes: number): Gpu => {
  return { name, bytes: mebibytes * 2 ** 20, driver: '580.65', capability: '8.9' };
};
const RTX_4090 = card('NVIDIA GeForce RTX 4090', 24_564);

describe('a run on a card', () => {
  let folder: string;
  let model: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'gauntlet-card-'));
    model = folder;
    writeFileSync(join(folder, 'config.json'), JSON.stringify(shapeConfig(PUBLISHED['1.5B'])));
    writeFileSync(join(folder, 'nvidia-smi'), '#!/bin/sh\necho NVIDIA GeForce RTX 4070, 12282, 580.65, $CAPABILITY\n', {
      mode: 0o755,
    });
  });
  after(() => rmSync(folder, { recursive: true }));

  async function start(input: RunConfigInput, gpu: Gpu | undefined) {
    const notes: string[] = [];
    const note = (line: string) => notes.push(line);
    const chosen = await forCard(input, note, async () => gpu);
    return { chosen, notes };
  }
  const qwen = (more: object = {}): RunConfigInput => ({
    preset: 'qwen-1.5b',
    model,
    engine: { device: 'cuda', ...more },
  });

  it('has the settings for the card of this machine, and says what it needs', async () => {
    const { chosen, notes } = await start(qwen(), RTX_4090);
    assert.equal(chosen.engine?.gpuGigabytes, 24);
    assert.equal(notes.length, 1);
    assert.match(
      notes[0]!,
      /^device: NVIDIA GeForce RTX 4090, 24\.0 GiB, driver 580\.65; f16; needs 1\d\.\d GiB: weights 2\.9, .* \(computed\)$/,
    );
    const small = await start(qwen(), card('RTX 4060', 8188));
    assert.equal(small.chosen.engine?.gpuGigabytes, 8);
    assert.match(small.notes[0]!, /needs 6\.\d GiB/);
  });

  it('keeps the settings for another card if its configuration names one', async () => {
    const { chosen } = await start(qwen({ gpuGigabytes: 12 }), RTX_4090);
    assert.equal(chosen.engine?.gpuGigabytes, 12);
  });

  it('says which settings it uses if no card answers', async () => {
    const { chosen, notes } = await start(qwen(), undefined);
    assert.deepEqual(chosen, qwen());
    assert.deepEqual(notes, ['no card answers here: the settings are those for 24 GB, see engine.gpuGigabytes']);
  });

  it('keeps its settings and looks for no card if it does not use cuda', async () => {
    const fails = (): never => assert.fail('asked');
    assert.deepEqual(await forCard({ preset: 'qwen-1.5b' }, fails, fails), { preset: 'qwen-1.5b' });
  });

  it('is refused before its start if the card is too small', async () => {
    await assert.rejects(start({ preset: 'qwen-7b', engine: { device: 'cuda' } }, card('RTX 4070', 12_282)), {
      code: 'BAD_CONFIG',
      message:
        'engine.gpuGigabytes: preset qwen-7b needs a card of 24 GB, is 12; presets that fit: qwen-0.5b, qwen-1.5b, code-a1-small; device cpu needs no card',
    });
    const whole: RunConfigInput = { preset: 'smollm2-135m', model, engine: { device: 'cuda', precision: 'f16' } };
    await assert.rejects(start(whole, card('RTX 4060', 8188)), {
      code: 'OUT_OF_MEMORY',
      message: /^\S+: needs 1\d\.\d GiB: .*; the GPU has 8\.0 GiB: .*engine\.decoderRows=16/,
    });
  });

  it('is refused by `train` if its models do not fit, and `doctor` names the presets that fit', async () => {
    const env = { PATH: `${folder}:${process.env.PATH}`, CAPABILITY: '10.0' };
    const store = join(folder, 'store');
    const train = ['train', 'r', '--preset', 'qwen-7b', '--model', 'tiny', '--device', 'cuda', '--store', store];
    const { code, err } = await withEnvironment(env, ...train);
    assert.equal(code, 2);
    assert.match(err, /preset qwen-7b needs a card of 24 GB, is 12/);
    const { out } = await withEnvironment(env, 'doctor', '--json', '--store', store);
    const { findings } = JSON.parse(out) as { findings: { name: string; detail: string }[] };
    assert.equal(
      findings.find(({ name }) => name === 'gpu presets')?.detail,
      '12 GB fit qwen-0.5b, qwen-1.5b, code-a1-small; a larger card is needed for qwen-7b (computed)',
    );
    assert.match(out, /its compute capability is 10\.0/);
  });

  it('has the settings for the nominal size of a card, even if ECC takes a part of the memory', () => {
    // sizes of a card with 12 GB and ECC, A10G, RTX 4090, H100, and others
    const sizes = { 11520: 12, 23028: 24, 24564: 24, 81559: 80, 11264: 11, 22528: 22, 15360: 15, 46068: 45 };
    for (const [mebibytes, size] of Object.entries(sizes)) assert.equal(gigabytesOf(card('', Number(mebibytes))), size);
  });

  it('is refused before any download if CUDA has no code for the card or the driver is too old', async () => {
    const fault = 'its compute capability is 10.0, and the CUDA provider has code for 7.5, 8.0, 8.6, 8.9, 9.0, 12.0';
    const env = { PATH: `${folder}:${process.env.PATH}`, CAPABILITY: '10.0' };
    const { code, err } = await withEnvironment(env, 'setup', 'cuda');
    assert.equal(code, 3);
    assert.ok(err.includes(`CUDA cannot use NVIDIA GeForce RTX 4070, 12.0 GiB, driver 580.65: ${fault}`), err);
    const faultOf = (capability: string, driver = '580.65') => cardFault({ capability, driver });
    for (const capability of ['7.5', '8.0', '8.7', '9.0', '12.1']) assert.equal(faultOf(capability), undefined);
    for (const capability of ['7.0', '10.3', '11.0']) assert.match(faultOf(capability)!, /has code for/);
    assert.equal(faultOf('9.0', '570.124.06'), 'its driver is 570.124.06, and CUDA 13 needs 580 or newer');
  });

  it('has the same configuration on every machine', () => {
    const config = resolveConfig(qwen({ gpuGigabytes: 8 }));
    assert.deepEqual(
      [config.engine.precision, config.engine.quantization, config.engine.decoderRows],
      ['f16', 'none', 16],
    );
  });
});

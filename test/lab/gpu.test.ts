// The parts of `npm run bench -- gpu` that need no card.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { ROOT } from '../../infra/root.mjs';
import { follow } from '../../lab/bench/gpu/follow.js';
import { needMemory, reasonOf } from '../../lab/bench/gpu/measure.js';
import { parseGpuOptions } from '../../lab/bench/gpu/options.js';
import { filesOfProgram } from '../../lab/bench/gpu/pack.js';
import {
  earlierResults,
  type GpuResults,
  type Identity,
  type Measurement,
  pending,
  type SectionResult,
} from '../../lab/bench/gpu/results.js';
import { keepCapability } from '../../lab/bench/gpu/shrink.js';
import { judge, TARGETS } from '../../lab/bench/gpu/targets.js';
import { temporaryFolder } from '../infra/support.js';

const done = (...measurements: Measurement[]): SectionResult => ({ status: 'done', seconds: 1, measurements });
const failed: SectionResult = { status: 'failed', reason: 'killed', seconds: 1, measurements: [] };
const identity: Identity = { commit: 'abc', card: 'a card', runtime: '1.30.0', small: false };

describe('the benchmark of a GPU', () => {
  it('reads its options, and refuses others in one line', () => {
    const all = parseGpuOptions([], {});
    assert.deepEqual(all.sections, ['check', 'step', 'train', 'generate', 'torch', 'profile']);
    assert.deepEqual([all.device, all.seconds, all.python, all.pack], ['cuda', 1800, 'python3', undefined]);
    const some = parseGpuOptions(['--only', 'step, check', '--seconds', '500', '--force'], {
      GAUNTLET_BENCH_VENV: '/venv',
    });
    assert.deepEqual(some.sections, ['check', 'step'], 'in their order');
    assert.deepEqual([some.seconds, some.force, some.python], [500, true, '/venv/bin/python']);
    assert.deepEqual(parseGpuOptions(['--pack', 'dir'], {}).pack, { folder: 'dir', capability: 90 });
    for (const [args, message] of [
      [['--only', 'steps'], /^--only steps: the sections are check, step, /],
      [['--device', 'tpu'], /^--device must be cuda or cpu, is tpu$/],
      [['--seconds', '0'], /^--seconds must be a positive integer/],
      [['--capability', '80'], /^--capability needs --pack$/],
    ] as const)
      assert.throws(() => parseGpuOptions([...args], {}), { message, exitCode: 2 });
  });

  it('continues from results of the same commit, card and runtime', () => {
    const file = join(temporaryFolder(), 'gpu.json');
    assert.deepEqual(earlierResults(file, identity).sections, {});
    const sections = { check: done(), step: failed };
    writeFileSync(file, JSON.stringify({ identity, sections, versions: { torch: '2' } }));
    const { sections: found, versions } = earlierResults(file, { ...identity });
    assert.deepEqual([found, versions], [sections, { torch: '2' }]);
    for (const other of [{ commit: 'b' }, { card: 'b' }, { runtime: '2' }, { small: true }])
      assert.deepEqual(earlierResults(file, { ...identity, ...other }).sections, {});
    const changed = { ...identity, commit: 'abc-dirty' };
    writeFileSync(file, JSON.stringify({ identity: changed, sections, versions: {} }));
    assert.deepEqual(earlierResults(file, changed).sections, {}, 'other changes have the same name');
    assert.deepEqual(pending(['check', 'step', 'train'], sections, false), ['step', 'train']);
    assert.deepEqual(pending(['check', 'step'], sections, true), ['check', 'step']);
  });

  it('judges targets by figures, and by the ratio to torch in the same run', () => {
    const name = 'f32 gradient SmolLM2-135M';
    const met = (sections: GpuResults['sections'], small = false) =>
      Object.fromEntries(judge(sections, small).map(({ target, measured, met }) => [target, `${measured} ${met}`]));
    const sections = { train: done({ case: name, seconds: 0.5 }), torch: done({ case: name, seconds: 1 }) };
    const judged = met(sections);
    assert.equal(judged[`${name}: seconds ≤ 0.45`], '0.5 NO');
    assert.equal(judged[`${name}: ahead of torch`], '2.00× yes');
    assert.equal(judged['f16 gradient SmolLM2-135M: seconds ≤ 0.15'], '– not measured');
    assert.equal(met({ train: sections.train })[`${name}: ahead of torch`], '– not measured');
    assert.equal(met(sections, true)[`${name}: seconds ≤ 0.45`], '– not measured', 'small sizes do not count');
    assert.equal(judge({}, false).length, TARGETS.length + 1);
  });

  it('judges all checks together, including failed and missing ones', () => {
    const verdict = (check: SectionResult | undefined): string[] => {
      const { measured, met } = judge({ check }, true)[0]!;
      return [measured, met];
    };
    const right = { case: 'a', holds: true };
    assert.deepEqual(verdict(done(right)), ['all checks', 'yes']);
    assert.deepEqual(verdict(done(right, { case: 'b', holds: false })), ['b', 'NO']);
    assert.deepEqual(verdict({ ...done(right, { case: 'b', failed: 'why' }), status: 'failed' }), ['b', 'NO']);
    assert.deepEqual(verdict({ ...done(right), status: 'timeout' }), ['–', 'not measured']);
    assert.deepEqual(verdict(undefined), ['–', 'not measured']);
  });

  it('skips a case that does not fit into the memory of the card', async () => {
    const engine = (code: 'OUT_OF_MEMORY' | 'ENGINE_FAULT', message: string) =>
      reasonOf(new GauntletError(code, message));
    assert.deepEqual(engine('OUT_OF_MEMORY', 'too large'), { skipped: 'too large' });
    assert.deepEqual(engine('ENGINE_FAULT', 'no kernel image'), { failed: 'no kernel image' });
    await needMemory('cpu', 1e15); // the CPU only serves to test the benchmark
  });

  it('packs every module that a packed one starts', async () => {
    const packed = [...(await filesOfProgram())];
    const isPacked = (name: string): boolean => packed.some((file) => file.endsWith(`/${name}.js`));
    for (const file of packed.filter((name) => name.startsWith('dist/'))) {
      const code = readFileSync(join(ROOT, file), 'utf8').replace(/^ *\/\/.*/gm, '');
      for (const [, name] of code.matchAll(/new URL\(\S*?(\w+)\.js\S* *import\.meta\.url/g))
        assert.ok(isPacked(name!), name);
    }
    const started = 'gpu/section selfTest/process pool/worker engine/cardPlanThread engine/quantizeWorker';
    assert.ok(started.split(' ').every(isPacked));
  }).timeout(60_000);

  describe('a section of the benchmark', () => {
    const run = (script: string, seconds = 60) => {
      const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
      return follow(child, { seconds, update: () => {} });
    };
    const print = (line: object): string => `console.log('${JSON.stringify(line)}');`;
    const one = print({ case: 'one', seconds: 1 });

    it('is done if its process prints measurements', async () => {
      const { status, reason, measurements } = await run(`console.log('other output'); ${one}`);
      assert.deepEqual([status, reason, measurements], ['done', undefined, [{ case: 'one', seconds: 1 }]]);
    });

    it('keeps measurements when it fails, crashes or takes too long', async () => {
      const outcome = async (script: string, seconds?: number) => {
        const { status, reason, measurements } = await run(one + script, seconds);
        return [status, reason, measurements.length];
      };
      assert.deepEqual(await outcome(print({ case: 'two', failed: 'why' })), ['failed', '1 of 2 cases', 2]);
      assert.deepEqual(await outcome('process.exitCode = 3'), ['failed', 'its process ended: 3', 1]);
      assert.deepEqual(await outcome('process.abort()'), ['failed', 'its process ended: SIGABRT', 1]);
      assert.deepEqual(await outcome('setInterval(() => {}, 1000)', 3), ['timeout', 'it was stopped after 3 s', 1]);
      assert.deepEqual(await outcome(print({ skipped: 'no torch' })), ['skipped', 'no torch', 1]);
    });

    it('fails if its program does not start', async () => {
      const child = spawn('/no/such/program', { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
      const { status, reason } = await follow(child, { seconds: 60, update: () => {} });
      assert.deepEqual([status, reason], ['failed', 'spawn /no/such/program ENOENT']);
    });
  });

  it('keeps only the machine code of one kind of card in a library', () => {
    const entry = (kind: number, capability: number): Buffer => {
      const header = Buffer.alloc(64);
      header.writeUInt16LE(kind, 0);
      header.writeUInt32LE(64, 4);
      header.writeBigUInt64LE(8n, 8);
      header.writeUInt32LE(capability, 28);
      return Buffer.concat([header, Buffer.alloc(8, capability)]);
    };
    const entries = Buffer.concat([entry(2, 80), entry(2, 90), entry(1, 90)]);
    const bundle = Buffer.alloc(16);
    bundle.writeUInt32LE(0xba55ed50, 0);
    bundle.writeUInt16LE(16, 6);
    bundle.writeBigUInt64LE(BigInt(entries.length), 8);
    const code = Buffer.concat([bundle, entries, Buffer.alloc(8)]);
    const names = Buffer.from('\0.nv_fatbin\0');
    const [start, width] = [64, 64];
    const library = Buffer.concat([Buffer.alloc(start), code, names, Buffer.alloc(2 * width)]);
    library.writeBigUInt64LE(BigInt(start + code.length + names.length), 40); // the table of sections
    library.writeUInt16LE(width, 58);
    library.writeUInt16LE(2, 60);
    const section = (i: number, name: number, offset: number, size: number): void => {
      const at = start + code.length + names.length + i * width;
      library.writeUInt32LE(name, at);
      library.writeBigUInt64LE(BigInt(offset), at + 24);
      library.writeBigUInt64LE(BigInt(size), at + 32);
    };
    section(0, 0, start + code.length, names.length); // the names, by default section 0
    section(1, 1, start, code.length);
    const before = Buffer.from(library);
    assert.throws(() => keepCapability(Buffer.from(library), 75), /no code for compute capability 75; it has 80, 90/);
    keepCapability(library, 90);
    const bodies = [0, 1, 2].map((i) => library[start + 16 + i * 72 + 64]);
    assert.deepEqual(bodies, [0, 90, 0], 'source for the driver goes as well');
    assert.deepEqual(library.subarray(start + code.length), before.subarray(start + code.length));
  });
});

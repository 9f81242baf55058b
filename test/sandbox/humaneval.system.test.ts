// HumanEval+ checks test source: references pass, and mutants have the same result as in a plain Python process. Runs a
// sample; GAUNTLET_MUTANTS=0-500 and GAUNTLET_REFERENCES=0-164 select ranges.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../../core/schema/problem.js';
import { examineProblem } from '../../sandbox/healthGate.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { readSet } from '../support/entries.js';
import { requireDocker } from './docker.js';
import { applyMutation, sampleMutants, tokenise } from './mutants.js';
import { runNative, whyNoNative } from './native.js';

const LIMITS = { cpuSeconds: 30, caseCpuSeconds: 30, wallSeconds: 180, memoryMb: 1024, outputBytes: 1_000_000 };
const CPU_SECONDS = 5; // the time limit of a mutant
const SEED = 164;
/** The test of this problem unpacks a float in `_poly(*candidate(*inp), inp)`, so no solution can pass. */
const BROKEN = new Map([['HumanEval/32', /TypeError/]]);

const rangeOf = (text: string): [number, number] => text.split('-').map(Number) as [number, number];

describe('HumanEval+ in the sandbox', () => {
  let sandbox: Sandbox;
  let problems: Problem[];
  let bodies: string[]; // the part of each reference that is mutated

  before(async function () {
    const file = join(process.env.GAUNTLET_SHARED ?? '', 'data/humanevalplus.jsonl.gz');
    if (!process.env.GAUNTLET_SHARED || !existsSync(file)) {
      console.log('      skipped: GAUNTLET_SHARED names no folder with data/humanevalplus.jsonl.gz');
      return this.skip();
    }
    await requireDocker(this);
    const { entries, problems: read } = await readSet(file);
    assert.equal(read.length, entries.length);
    problems = read;
    bodies = problems.map(({ referenceSolution: code }) => code!.slice(code!.lastIndexOf('"""') + 3));
    sandbox = await openSandbox('docker', { packages: 'numpy' });
  });
  after(() => sandbox?.close());

  it('accepts every reference with its own tests, except one with a broken test', async () => {
    const { GAUNTLET_REFERENCES: range } = process.env;
    const [from, to] = range === undefined ? [0, problems.length] : rangeOf(range);
    const chosen = problems.slice(from, to).filter((_, i) => range !== undefined || i % 32 === 0);
    const started = performance.now();
    const health = await Promise.all(chosen.map((problem) => examineProblem(problem, sandbox, { limits: LIMITS })));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`      ${chosen.length} references in ${seconds} s, each twice`);
    for (const [i, { id }] of chosen.entries()) {
      const { reason = 'passes' } = health[i] as { reason?: string };
      assert.match(reason, BROKEN.get(id) ?? /^passes$/, id);
    }
  });

  it('gives mutants the same result as a plain Python process', async function () {
    const missing = whyNoNative();
    if (missing !== undefined) {
      console.log(`      skipped: ${missing}`);
      return this.skip();
    }
    const [from, to] = rangeOf(process.env.GAUNTLET_MUTANTS ?? '0-6');
    const mutants = sampleMutants(bodies, to, SEED).slice(from);
    assert.equal(mutants.length, to - from);
    const sources = mutants.map(({ program, mutation }) => {
      const referenceSolution = problems[program]!.referenceSolution!;
      const head = referenceSolution.slice(0, referenceSolution.length - bodies[program]!.length);
      return head + applyMutation(bodies[program]!, mutation);
    });
    const both = async (i: number, cpuSeconds: number) => {
      const { entry, testSource } = problems[mutants[i]!.program]!;
      const limits = { ...LIMITS, cpuSeconds, caseCpuSeconds: cpuSeconds };
      const files = { 'test_solution.py': testSource! };
      const [native, runs] = await Promise.all([
        runNative(`${sources[i]}\n${testSource}\ncheck(${entry})\n`, limits),
        sandbox.runTests([{ id: String(i), code: sources[i]!, entry, style: 'assert', files, limits }]),
      ]);
      const { tests } = runs[0]!;
      const worst = tests.find(({ outcome }) => outcome !== 'pass');
      const ours = tests.length === 0 ? 'nothing' : (worst?.outcome ?? 'pass');
      return { native, ours, message: worst?.message ?? '', agree: (native.outcome === 'pass') === (ours === 'pass') };
    };
    const tally = new Map<string, number>();
    const differences: string[] = [];
    const judge = async (i: number): Promise<void> => {
      const { program, mutation } = mutants[i]!;
      let run = await both(i, CPU_SECONDS);
      // near the limit, only one of the two processes may time out
      if (!run.agree && [run.native.outcome, run.ours].includes('timeout')) run = await both(i, 12 * CPU_SECONDS);
      const kind = `native ${run.native.outcome}, sandbox ${run.ours}`;
      tally.set(kind, (tally.get(kind) ?? 0) + 1);
      if (!run.agree) {
        const what = `${from + i} ${problems[program]!.id}: ${mutation.original} → ${mutation.replacement}`;
        differences.push(`${what}: ${kind} (${run.native.message}; ${run.message})`);
      }
    };
    const left = mutants.map((_, i) => i);
    const worker = async (): Promise<void> => {
      for (let i = left.shift(); i !== undefined; i = left.shift()) await judge(i);
    };
    await Promise.all([worker(), worker()]);
    console.log(
      `      ${[...tally]
        .sort()
        .map(([kind, count]) => `${kind}: ${count}`)
        .join(' · ')}`,
    );
    assert.deepEqual(differences, []);
  });
});

describe('mutants of programs', () => {
  const code = 'def f(xs, k=0):\n    # a + b\n    return [x ** 2 for x in xs if x != k or "a" in xs]\n';
  it('differ from their program in one token and depend only on the seed', () => {
    const sample = sampleMutants([code, code], 20, 1);
    assert.deepEqual(sample, sampleMutants([code, code], 20, 1));
    assert.notDeepEqual(sample, sampleMutants([code, code], 20, 2));
    assert.equal(new Set(sample.map((one) => JSON.stringify(one))).size, 20);
    const before = tokenise(code).map(({ text }) => text);
    for (const { mutation } of sample) {
      const after = tokenise(applyMutation(code, mutation)).map(({ text }) => text);
      assert.equal(after.length, before.length);
      assert.equal(after.filter((text, i) => text !== before[i]).length, 1, JSON.stringify(mutation));
    }
  });
  it('are spread evenly over the programs', () => {
    const counts = [0, 0, 0];
    for (const { program } of sampleMutants([code, code, code], 9, 3)) counts[program]!++;
    assert.deepEqual(counts, [3, 3, 3]);
  });
});

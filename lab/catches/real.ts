// Measures after how many tests of each writer the wrong programs that real models wrote for HumanEval are caught. They pass its
// tests and fail one that HumanEval+ adds.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testsOf } from '../../chains/judge/hardenProblems.js';
import { runPrograms } from '../../chains/judge/judging.js';
import { RandomStream } from '../../core/base/random.js';
import { constantsIn, dictionaryInputs } from '../../core/inputs/dictionaryInputs.js';
import { freshInputs, knownInputs } from '../../core/inputs/freshInputs.js';
import { limitsSchema } from '../../core/schema/execution.js';
import { type Problem, SPLITS } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import { toRecord } from '../../data/formats/gauntlet.js';
import { loadProblems } from '../../data/problems.js';
import { ROOT } from '../../infra/root.mjs';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { searchInputs } from '../../sandbox/searchInputs.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { LabError } from '../flags.js';
import { crosshairFound } from './crosshair.js';
import { keyOf, type RealRecord, type Records, rowsIn } from './records.js';

/** Programs that `harden` may know, new programs of the same model, and those of other models. */
export const GROUPS = ['codegen-known', 'codegen-new', 'qwen'] as const;
const DRAWN = 500; // inputs, of which some are forbidden
/** The inputs that run together. Programs that one of them catches do not meet later ones. */
const PARTS = [
  [0, 8],
  [8, 40],
  [40, 200],
  [200, DRAWN],
] as const;
const SEARCHED = 100; // inputs of a search
const HARDENED = 100; // tests of `harden`
const BATCH = 24;
const QUICK = 4; // programs
const LIMITS = limitsSchema.parse({ cpuSeconds: 20, caseCpuSeconds: 1, wallSeconds: 100, memoryMb: 512 });

interface RealProblem {
  problem: Problem;
  wrong: { group: (typeof GROUPS)[number]; code: string }[];
  written: Record<string, Value[][]>; // the inputs of tests that a model wrote from the description alone
}
export type RealTarget = RealProblem & RealProblem['wrong'][number] & { known: Value[][] };
type Write = (targets: readonly RealTarget[], seed: number, sandbox: Sandbox) => Promise<Value[][][]>;

export const realProblems = (): RealProblem[] => rowsIn('real.jsonl.gz');

export const realTargets = (): RealTarget[] =>
  realProblems().flatMap((one) => one.wrong.map((wrong) => ({ ...one, ...wrong, known: knownInputs(one.problem) })));

const drawn =
  (inputs: (target: RealTarget, random: RandomStream) => Value[][]): Write =>
  async (targets, seed) =>
    targets.map((target) => inputs(target, new RandomStream('real', seed, target.problem.id)));

const searched =
  (readsProgram: boolean, grows = false): Write =>
  (targets, seed, sandbox) => {
    const searches = targets.map(({ problem: { referenceSolution: reference = '', entry }, code, known }) => {
      return { reference, program: readsProgram ? code : '', entry, known, count: SEARCHED, seed, grows };
    });
    return searchInputs(sandbox, searches).then((found) => found.map((inputs) => inputs ?? []));
  };

const dictionary = drawn(({ problem: { description, referenceSolution = '' }, code, known }, random) =>
  dictionaryInputs(known, constantsIn(description, referenceSolution, code), DRAWN, random),
);

const together =
  (merge: (all: Value[][][]) => Value[][], writers: Write[]): Write =>
  async (targets, seed, sandbox) => {
    const found: Value[][][][] = [];
    for (const write of writers) found.push(await write(targets, seed, sandbox));
    return targets.map((_, t) => merge(found.map((inputs) => inputs[t]!)));
  };
const inOrder = (...writers: Write[]): Write => together((all) => all.flat(), writers);
/** The first input of each writer, then the second of each. */
const inTurns = (...writers: Write[]): Write =>
  together(
    (all) => Array.from({ length: DRAWN }, (_, i) => all.flatMap((inputs) => inputs.slice(i, i + 1))).flat(),
    writers,
  );

/** The tests of `gauntlet harden`, which knows mutants of the reference and the programs of some groups. */
const hardened =
  (...groups: readonly string[]): Write =>
  async (targets) => {
    const folder = mkdtempSync(join(tmpdir(), 'real-'));
    try {
      const [problems, programs, out] = ['problems', 'programs', 'out'].map((name) => join(folder, `${name}.jsonl`));
      const lines = (rows: unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
      const all = [...new Map(targets.map((target) => [target.problem.id, target])).values()];
      writeFileSync(problems!, lines(all.map(({ problem }) => toRecord(problem))));
      const known = all.flatMap(({ problem: { id }, wrong }) =>
        wrong.filter(({ group }) => groups.includes(group)).map(({ code }) => ({ id, code })),
      );
      writeFileSync(programs!, lines(known));
      const flags = ['-o', out!, '--tests', `${HARDENED}`, ...(known.length > 0 ? ['--programs', programs!] : [])];
      const { status } = spawnSync(process.execPath, [join(ROOT, 'bin/gauntlet.mjs'), 'harden', problems!, ...flags], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      if (status !== 0) throw new LabError('gauntlet harden failed');
      const set = await loadProblems(out!);
      const hard = SPLITS.flatMap((split) => set[split]);
      const inputs = new Map(hard.map(({ id, baselineTests }) => [id, baselineTests.map(({ args }) => args)]));
      return targets.map(({ problem: { id, baselineTests } }) => (inputs.get(id) ?? []).slice(baselineTests.length));
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

const written = (model: string): Write => drawn((target) => target.written[model] ?? []);

/** The inputs for each program; undefined for one that the writer was not given. */
type WriteSome = (...asked: Parameters<Write>) => Promise<(Value[][] | undefined)[]>;

export const REAL_WRITERS: Record<string, WriteSome> = {
  mutation: drawn(({ known }, random) => freshInputs(known, DRAWN, random)),
  dictionary,
  'search-reference': searched(false),
  search: inOrder(searched(true), dictionary), // as `discriminator.writer: search`
  crosshair: async (targets) => {
    const found = crosshairFound('real');
    return targets.map((_, t) => found.get(`${t}`)?.inputs);
  },
  'in-turns': inTurns(searched(true), searched(false, true), dictionary),
  harden: hardened(),
  'harden-programs': hardened('codegen-known'),
  'harden-these': hardened(...GROUPS),
  'codegen-16b': written('codegen-16b'),
};

/** Measures the writers with each seed. A record that exists is kept. */
export async function measureReal(
  records: Records,
  { arms, seeds, commit, quick }: { arms: readonly string[]; seeds: readonly number[]; commit: string; quick: boolean },
  say: (line: string) => void,
): Promise<void> {
  const targets = realTargets().slice(0, quick ? QUICK : undefined);
  const sandbox = await openSandbox('auto');
  const judge = { sandbox, limits: LIMITS, options: {} };
  try {
    for (const seed of seeds)
      for (const arm of arms) {
        const record: RealRecord = { kind: 'real', arm, seed, commit, ranks: [] };
        if (records.all().some((one) => keyOf(one) === keyOf(record))) continue;
        const inputs = await REAL_WRITERS[arm]!(targets, seed, sandbox);
        const met = targets.map(() => 0); // how many tests each program has met
        record.ranks = inputs.map((own) => (own ? 0 : -1));
        let open = [...targets.keys()].filter((t) => inputs[t]); // those that no test has caught yet
        for (const [from, to] of PARTS) {
          for (let i = 0; i < open.length; i += BATCH) {
            const own = open.slice(i, i + BATCH);
            const asked = own.map((t) => ({ problem: targets[t]!.problem, inputs: inputs[t]!.slice(from, to) }));
            const tests = await testsOf(judge, asked);
            const suites = own.map((t, k) => ({ ...asked[k]!, programs: [targets[t]!.code], tests: tests[k]! }));
            const { runs } = await runPrograms(sandbox, LIMITS, suites, {});
            for (const [k, t] of own.entries()) {
              const at = runs[k]![0]!.verdicts.findIndex((verdict) => verdict !== 'pass');
              if (at >= 0) record.ranks[t] = met[t]! + at + 1;
              met[t]! += tests[k]!.length;
            }
          }
          open = open.filter((t) => record.ranks[t] === 0);
        }
        records.save(record);
        const given = record.ranks.filter((rank) => rank >= 0);
        say(`${arm}, seed ${seed}: ${given.filter((rank) => rank > 0).length} of ${given.length} caught`);
      }
  } finally {
    await sandbox.close();
  }
}

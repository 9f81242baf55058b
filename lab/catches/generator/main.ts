// `npm run experiments -- catches --programs`: reinforces the generator with each arm's tests and measures its programs.
import { mkdirSync } from 'node:fs';
import { RandomStream } from '../../../core/base/random.js';
import type { Split } from '../../../core/schema/problem.js';
import type { Value } from '../../../core/schema/value.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { FROZEN } from '../frozen.js';
import { cpuSeconds } from '../prices.js';
import { type CatchRecord, keyOf, type Records, type Shares } from '../records.js';
import { searchArm } from '../searches.js';
import { provideModel, WRITERS, writtenBy } from '../writer/writers.js';
import { needsWriter, SUITE, type SuiteArm } from './suites.js';
import { writerNumber } from './table.js';
import { measurePrograms, trainGenerator, UPDATES } from './train.js';

const TURNS = SUITE / 4;
const QUICK = { updates: 4, problems: 16 };

type Say = (line: string) => void;

export interface ProgramsOptions {
  arms: readonly SuiteArm[];
  seeds: readonly number[];
  split: Split;
  store: string;
  commit: string;
  quick: boolean;
}

/** Keeps records that exist. */
export async function measureAllPrograms(records: Records, options: ProgramsOptions, say: Say): Promise<void> {
  const { arms, seeds, split, store, commit, quick } = options;
  const isKnown = (seed: number, arm: SuiteArm): boolean => {
    const key = keyOf({ kind: 'programs', split, arm, seed });
    return records.all().some((record) => keyOf(record) === key);
  };
  const open = seeds.flatMap((seed) => arms.filter((arm) => !isKnown(seed, arm)).map((arm) => ({ seed, arm })));
  if (open.length === 0) return;
  mkdirSync(store, { recursive: true });
  const engine = await openEngine(await provideModel(store, 'generator', 0, say));
  const updates = quick ? QUICK.updates : UPDATES;
  try {
    for (const { seed, arm } of open) {
      const written = needsWriter(arm) ? await writtenFor(arm, store, seed, say) : {};
      const seconds = cpuSeconds();
      const place = { split, seed, ...(quick && { problems: QUICK.problems }) };
      const before = beforeOf(records, split, seed) ?? (await measurePrograms(engine, place));
      const { adapter, trained } = await trainGenerator(engine, { arm, seed, updates, written }, say);
      const after = await measurePrograms(engine, place, adapter);
      records.save({ kind: 'programs', split, arm, seed, commit, updates, trained, before, after });
      const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
      const used = (cpuSeconds() - seconds).toFixed(0);
      say(`${arm}, seed ${seed}: right ${percent(before.right)}, then ${percent(after.right)} (${used} CPU seconds)`);
    }
  } finally {
    await engine.close();
  }
}

/** The untrained generator, which all arms share. */
function beforeOf(records: Records, split: Split, seed: number): Shares | undefined {
  const isSame = (one: CatchRecord) => one.kind === 'programs' && one.split === split && one.seed === seed;
  const found = records.all().find(isSame);
  return found?.kind === 'programs' ? found.before : undefined;
}

/** A suite is for all programs of a problem, so one frozen program represents the problem. */
async function writtenFor(arm: SuiteArm, store: string, seed: number, say: Say): Promise<Record<string, Value[][]>> {
  const problems = FROZEN.keyhole('train').map((problem) => ({ ...problem, wrong: problem.wrong.slice(0, 1) }));
  if (arm === 'search') {
    const { arm: search } = await searchArm('search-reference', problems, seed);
    const random = new RandomStream('keyhole-suite', arm, seed);
    return Object.fromEntries(problems.map((one) => [one.id, [...search.write(one, one.wrong[0]!, random)]]));
  }
  const writer = WRITERS.find((name) => name === arm) ?? 'blind';
  const { inputs } = await writtenBy(store, writer, writerNumber(seed), 'train', problems, say, TURNS);
  return Object.fromEntries(problems.map(({ id, wrong }) => [id, inputs[wrong[0]!.id] ?? []]));
}

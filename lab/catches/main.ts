// `npm run experiments -- catches`: measures which frozen wrong programs each writer of inputs catches, or how good the programs
// of a generator are after training with the writer's tests. Writes docs/adversary.md and a table of docs/evidence.md.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { meanOf } from '../../core/evaluation/seeds.js';
import { SPLITS } from '../../core/schema/problem.js';
import { ROOT } from '../../infra/root.mjs';
import { FLAG, LabError, readFlags, TEXT } from '../flags.js';
import { CONTROLS } from './controls.js';
import { crosshairArm } from './crosshair.js';
import { FROZEN, type FrozenFamily } from './frozen.js';
import { measureAllPrograms } from './generator/main.js';
import { needsWriter, SUITE_ARMS } from './generator/suites.js';
import { withPrograms } from './generator/table.js';
import { MOST_INPUTS } from './measure.js';
import { withCatches } from './page.js';
import { callPrices, drawPrice } from './prices.js';
import { measureReal, REAL_WRITERS } from './real.js';
import { withReal } from './realTable.js';
import {
  type CatchesRecord,
  type CatchRecord,
  catchRecordsPath,
  fileRecords,
  keyOf,
  memoryRecords,
  readCatchRecords,
} from './records.js';
import { measureReinforced, REWARDS } from './reinforced.js';
import { type Measured, measureArm } from './run.js';
import { SEARCHES, searchArm } from './searches.js';
import { withReinforced } from './summary.js';
import { HYBRIDS, type HybridName, hybridOf, writerOf } from './writer/arms.js';
import { WRITERS, type WriterName, writtenBy } from './writer/writers.js';

const MODELS = [...WRITERS, ...(Object.keys(HYBRIDS) as HybridName[])];
const CROSSHAIR = 'crosshair'; // only by name: it has one seed, and a part of the programs
const QUICK_PROBLEMS = 8;
const USAGE = `npm run experiments -- catches [options]
  --family F    keyhole (default), keyhole-fresh or nested
  --split S     test (default), validation or train
  --arms A,B    controls and searches (default: all), or writers: ${MODELS.join(', ')}
  --programs    instead, programs of keyhole after training with the tests of an arm: ${SUITE_ARMS.join(', ')}
  --reinforced  instead, a discriminator of nested after reinforcement with the rewards ${REWARDS.join(', ')}
  --real        instead, wrong programs of real models, with the tests of ${Object.keys(REAL_WRITERS).join(', ')}
  --seeds 0,1   seeds of the inputs, and of training; also 0-19 (default: 0,1,2)
  --store DIR   trained writers (default: .gauntlet/catches)
  --records F   file of the records (default: that of the page, which is written too)
  --quick       one seed, eight problems of the validation split; writes no record
  --check       only compare docs/adversary.md with the records
A record that exists is kept, so a measurement that was cut off goes on.`;

export const adversaryPage = join(ROOT, 'docs', 'adversary.md');
const evidence = join(ROOT, 'docs', 'evidence.md');
const say = (line: string): void => console.error(`catches: ${line}`);

export async function catchesMain(args: string[], commit: string): Promise<void> {
  const values = readFlags(args, {
    family: TEXT,
    split: TEXT,
    arms: TEXT,
    seeds: TEXT,
    store: TEXT,
    records: TEXT,
    programs: FLAG,
    reinforced: FLAG,
    real: FLAG,
    quick: FLAG,
    check: FLAG,
    help: FLAG,
  });
  if (values.help) return console.log(USAGE);
  if (values.check) return checkCatches();
  const quick = values.quick === true;
  const family = oneOf('--family', values.family ?? 'keyhole', Object.keys(FROZEN) as FrozenFamily[]);
  const split = oneOf('--split', values.split ?? (quick ? 'validation' : 'test'), SPLITS);
  const store = resolve(values.store ?? '.gauntlet/catches');
  const seeds = seedsIn(values.seeds ?? (quick ? '0' : '0-2'));
  const records = quick ? memoryRecords() : fileRecords(resolve(values.records ?? catchRecordsPath()));
  const finish = (with_: typeof withCatches, name: string): void => {
    if (quick) console.log(with_(`<!-- ${name} --><!-- /${name} -->`, records.all(), split));
    else if (values.records === undefined) writePage();
  };
  if (values.programs) {
    const chosen = values.arms?.split(',').map((name) => oneOf('--arms', name, SUITE_ARMS));
    const arms = chosen ?? SUITE_ARMS.filter((arm) => !(quick && needsWriter(arm)));
    await measureAllPrograms(records, { arms, seeds, split, store, commit, quick }, say);
    return finish(withPrograms, 'programs');
  }
  if (values.reinforced) {
    const arms = values.arms?.split(',').map((name) => oneOf('--arms', name, REWARDS)) ?? REWARDS;
    return measureReinforced(records, { arms, seeds, split, commit, quick }, say);
  }
  if (values.real) {
    const known = Object.keys(REAL_WRITERS);
    const arms = values.arms?.split(',').map((name) => oneOf('--arms', name, known)) ?? known;
    await measureReal(records, { arms, seeds, commit, quick }, say);
    return finish(withReal, 'real');
  }
  if (FROZEN[family](split).length === 0) throw new LabError(`--split: ${family} has no ${split} split`, 2);
  const controls = [...CONTROLS.map(({ name }) => name), ...SEARCHES];
  const known = [...controls, CROSSHAIR, ...(family.startsWith('keyhole') ? MODELS : [])];
  const arms = values.arms?.split(',').map((name) => oneOf('--arms', name, known)) ?? controls;
  if (!records.all().some(({ kind }) => kind === 'prices')) {
    say('prices');
    const draw = Object.fromEntries(CONTROLS.map(({ name }) => [name, drawPrice(name)]));
    records.save({ kind: 'prices', commit, machine: machine(), call: await callPrices(), draw });
  }
  const problems = quick ? QUICK_PROBLEMS : undefined;
  for (const seed of seeds) {
    for (const name of arms) {
      const measured = { family, split, seed, commit, ...(problems !== undefined && { problems }) };
      const key = keyOf({ kind: 'catches', ...measured, arm: name, cells: {} });
      if (records.all().some((record) => keyOf(record) === key)) continue;
      const record = await measure(measured, name, store);
      records.save(record);
      say(`${name}, seed ${seed}: ${summaryOf(record)}`);
    }
  }
  finish(withCatches, 'catches');
}

/** Trains the writer first, unless the store has it. */
async function measure(measured: Measured, name: string, store: string): Promise<CatchesRecord> {
  const control = CONTROLS.find((one) => one.name === name);
  if (control) return measureArm(measured, control);
  const { family, split, problems, seed } = measured;
  if (name === CROSSHAIR) {
    const { arm, search, only } = crosshairArm(family);
    return measureArm({ ...measured, only }, arm, { search });
  }
  const own = FROZEN[family](split).slice(0, problems);
  const reader = SEARCHES.find((one) => one === name);
  if (reader) {
    const { arm, search } = await searchArm(reader, own, seed);
    return measureArm(measured, arm, { search });
  }
  mkdirSync(store, { recursive: true });
  const hybrid = Object.keys(HYBRIDS).find((one) => one === name) as HybridName | undefined;
  const writer = hybrid ? HYBRIDS[hybrid].writer : (name as WriterName);
  const written = await writtenBy(store, writer, seed, split, own, say);
  const arm = hybrid ? hybridOf(hybrid, written) : writerOf(name, written);
  const inputs = own.flatMap(({ wrong }) => wrong.map(({ id }) => written.inputs[id]?.length ?? 0));
  const ofModel = Math.min(hybrid ? HYBRIDS[hybrid].seeds : MOST_INPUTS, meanOf(inputs).value);
  const { tokens, seconds } = written;
  return measureArm(measured, arm, { model: { inputs: ofModel, tokens, seconds } });
}

const summaryOf = ({ cells }: CatchesRecord): string =>
  Object.entries(cells)
    .filter(([name]) => !name.includes(' '))
    .map(([name, { count, caught }]) => `${name} ${((100 * caught.at(-1)!) / count).toFixed(0)} %`)
    .join(', ');

function oneOf<T extends string>(flag: string, value: string, known: readonly T[]): T {
  const found = known.find((one) => one === value);
  if (found !== undefined) return found;
  throw new LabError(`${flag}: no '${value}'; known: ${known.join(', ')}`, 2);
}

/** Parses a list of numbers and ranges: '0,3-5' is 0, 3, 4 and 5. */
export const seedsIn = (text: string): number[] =>
  text.split(',').flatMap((part) => {
    if (!/^\d+(-\d+)?$/.test(part)) throw new LabError(`--seeds: '${part}' is neither a number nor a range`, 2);
    const [from, to = from] = part.split('-').map(Number) as [number, number?];
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });

export const pageWith = (text: string, records: readonly CatchRecord[]): string =>
  withReal(withPrograms(withCatches(text, records), records), records);

export function writePage(): void {
  const records = readCatchRecords(catchRecordsPath());
  writeFileSync(adversaryPage, pageWith(readFileSync(adversaryPage, 'utf8'), records));
  writeFileSync(evidence, withReinforced(readFileSync(evidence, 'utf8'), records));
}

/** Checks that the tables of both pages follow from the records. */
export function checkCatches(): void {
  const text = readFileSync(adversaryPage, 'utf8');
  const records = readCatchRecords(catchRecordsPath());
  const summary = readFileSync(evidence, 'utf8');
  if (pageWith(text, records) !== text || withReinforced(summary, records) !== summary)
    throw new LabError(
      'docs/adversary.md or docs/evidence.md differs from lab/catches/records.jsonl; run npm run experiments -- catches',
      1,
    );
  say('docs/adversary.md and the tables of docs/evidence.md about reinforcement follow from the records');
}

const machine = (): string => `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`;

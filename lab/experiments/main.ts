// `npm run experiments`: trains every arm with every seed, measures it on the test split, and writes docs/evidence.md.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import { adversaryPage, catchesMain, checkCatches, seedsIn } from '../catches/main.js';
import { FLAG, LabError, readFlags, TEXT } from '../flags.js';
import { FAMILIES, type Family, FRESH_SEEDS, QUICK, TRAINABLE } from './arms.js';
import { withRecords } from './page.js';
import { unfounded } from './prose.js';
import { type ExperimentRecord, type Key, readRecords, recordsPath, sameKey, saveRecord } from './records.js';
import { digestOf, runArm } from './run.js';

const USAGE = `npm run experiments -- [options]
npm run experiments -- catches [options]    frozen wrong programs instead (--help)
  --family F    problem family: nested (default) or tiny
  --arms A,B    names of arms (default: all, see lab/experiments/arms.ts)
  --seeds 0,1   seeds, also 0-4, the default; fresh: ten seeds that nobody has chosen
  --quick       one seed, four arms, short runs, few test problems, and a few frozen programs; writes no record
  --check       only compare docs/evidence.md and docs/adversary.md with the records
  --store DIR   store of the runs (default: .gauntlet/experiments)
A run that was cut off goes on. A record that exists is kept.`;

const page = join(ROOT, 'docs', 'evidence.md');
const say = (line: string): void => console.error(`experiments: ${line}`);

async function main(args: string[]): Promise<void> {
  if (args[0] === 'catches') return catchesMain(args.slice(1), commitNow());
  const values = readFlags(args, {
    family: TEXT,
    arms: TEXT,
    seeds: TEXT,
    store: TEXT,
    quick: FLAG,
    check: FLAG,
    help: FLAG,
  });
  if (values.help) return console.log(USAGE);
  if (values.check) return check();
  const quick = values.quick === true;
  const store = resolve(values.store ?? (quick ? '.gauntlet/experiments-quick' : '.gauntlet/experiments'));
  const path = quick ? join(store, 'records.jsonl') : recordsPath();
  const seeds = values.seeds === 'fresh' ? FRESH_SEEDS : seedsIn(values.seeds ?? (quick ? '0' : '0-4'));
  const commit = commitNow();
  const arms = armsIn(values.arms) ?? (quick ? QUICK.arms : TRAINABLE.map(({ name }) => name));
  const family = familyIn(values.family ?? 'nested');
  if (family === 'tiny' && arms.some((name) => name !== 'method'))
    throw new LabError('the family tiny has only the arm method: use --arms method', 2);
  const keys = seeds.flatMap((seed) => keysOf(family, arms, seed));
  for (const [i, key] of keys.entries()) {
    const records = readRecords(path);
    const label = `[${i + 1}/${keys.length}] ${key.family}, ${key.arm}, seed ${key.seed}, equal ${key.equal}`;
    if (records.some((record) => sameKey(record, key))) {
      say(`${label}: known`);
      continue;
    }
    say(label);
    const place = { store, ...(quick ? QUICK : { over: {} }) };
    const factor = factorOf(records, key);
    const config = digestOf(key, place, factor);
    // an arm at equal tokens may have the same schedule as at equal updates
    const same = records.find((one) => sameKey({ ...one, equal: key.equal }, key) && one.config === config);
    const record = same ? { ...same, equal: key.equal } : await runArm(key, place, commit, factor);
    saveRecord(path, record);
    say(`${label}: pass@1 ${(100 * (record.metrics['pass@1'] ?? 0)).toFixed(1)} %`);
  }
  if (quick) {
    console.log(withRecords('<!-- experiments --><!-- /experiments -->', readRecords(path)));
    await catchesMain(['--quick'], commit);
  } else writePage(readRecords(path));
}

/** Runs the arms at equal updates first, because their tokens determine the length of the runs at equal tokens. */
function keysOf(family: Family, names: readonly string[], seed: number): Key[] {
  const arms = TRAINABLE.filter(({ name }) => names.includes(name));
  return [
    ...arms.map(({ name }): Key => ({ family, arm: name, equal: 'updates', seed })),
    ...arms.flatMap(({ name, atEqualTokens }): Key[] =>
      atEqualTokens ? [{ family, arm: name, equal: 'tokens', seed }] : [],
    ),
  ];
}

/** The factor by which an arm trains longer, so that it samples as many tokens as the method with the same seed. */
function factorOf(records: readonly ExperimentRecord[], { family, arm, equal, seed }: Key): number {
  if (equal === 'updates') return 1;
  const tokensOf = (name: string): number => {
    const record = records.find((one) => sameKey(one, { family, arm: name, equal: 'updates', seed }));
    if (record) return record.tokens;
    throw new LabError(`arms at equal tokens need a record of the arm ${name} with seed ${seed}: run it first`, 2);
  };
  return tokensOf('method') / tokensOf(arm);
}

function armsIn(text: string | undefined): string[] | undefined {
  const known = TRAINABLE.map(({ name }) => name);
  const names = text?.split(',');
  const unknown = names?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new LabError(`--arms: no arm '${unknown}'; known: ${known.join(', ')}`, 2);
  return names;
}

function familyIn(name: string): Family {
  const family = FAMILIES.find((known) => known === name);
  if (family) return family;
  throw new LabError(`--family must be ${FAMILIES.join(' or ')}, is ${name}`, 2);
}

function writePage(records: readonly ExperimentRecord[]): void {
  writeFileSync(page, withRecords(readFileSync(page, 'utf8'), records));
}

/** Checks that the tables follow from the records, and the figures in the text from the tables. */
function check(): void {
  const text = readFileSync(page, 'utf8');
  const records = readRecords(recordsPath());
  if (withRecords(text, records) !== text)
    throw new LabError('docs/evidence.md differs from lab/experiments/records.jsonl; run npm run experiments', 1);
  say('docs/evidence.md follows from the records');
  checkCatches();
  const pages = [page, adversaryPage].map((path) => readFileSync(path, 'utf8'));
  const strange = pages.flatMap((one) => unfounded(one, pages));
  if (strange.length > 0) throw new LabError(`the text has figures that no table has: ${strange.join('; ')}`, 1);
  say('every figure with a decimal place in the text of both pages is in one of their tables');
}

const commitNow = (): string =>
  spawnSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).stdout?.trim() || 'unknown';

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof LabError)) throw error;
  say(error.message);
  process.exitCode = error.exitCode;
}

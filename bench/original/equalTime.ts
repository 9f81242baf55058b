// What both trainers make of the same minutes: the share of test problems that their programs solve before and after.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { RunConfigInput } from '../../core/schema/config.js';
import type { Problem } from '../../core/schema/problem.js';
import { runResultSchema } from '../../core/schema/run.js';
import { loadBuiltIn } from '../../data/problems.js';
import { answerOf } from '../commands.js';
import { asFile } from '../experiments/wrongReferences.js';
import { LIMIT_SECONDS, PRESET, PROBLEMS, type Setting, startOriginal } from './settings.js';

const TEMPERATURE = 0.1; // the lowest of the original

export interface Solved {
  before: number; // share of the problems whose program passes all hidden tests
  after: number;
  seconds: number; // of training
}

export interface EqualTime {
  problems: number;
  ours: Solved;
  original: Solved & { updates: number };
}

/** @param count number of test problems, one program each */
export async function compareAfter(minutes: number, count: number, setting: Setting): Promise<EqualTime> {
  const { train, test } = loadBuiltIn(PROBLEMS);
  const problems = test.slice(0, count);
  const ours = await trainOurs(minutes, problems, setting);
  const original = await trainOriginal(minutes, train, problems, setting);
  return { problems: problems.length, ours, original };
}

/** The preset of the model, as a user starts it. */
async function trainOurs(minutes: number, problems: Problem[], { model, folder, say }: Setting): Promise<Solved> {
  const config: RunConfigInput = {
    preset: PRESET,
    model,
    problems: PROBLEMS,
    budget: { seconds: 60 * minutes },
    evaluation: { problems: 16, testProblems: 1 },
  };
  const [configFile, problemFile] = [join(folder, 'equal.json'), join(folder, 'equal.jsonl')];
  writeFileSync(configFile, JSON.stringify(config));
  writeFileSync(problemFile, asFile(problems));
  const store = ['--store', join(folder, 'equal'), '--json'];
  say(`ours: training for ${minutes} min`);
  const trained = await answerOf(['train', 'equal', '--config', configFile, '--watch', ...store]);
  const { trainingSeconds } = runResultSchema.parse(trained);
  const sampling = ['--problems', problemFile, '--samples', '1', '--temperature', `${TEMPERATURE}`];
  const measured = await answerOf(['evaluate', 'equal/best', '--against', 'base', ...sampling, ...store]);
  const { metrics, against } = evaluationSchema.parse(measured);
  return { before: against.metrics['pass@1'].value, after: metrics['pass@1'].value, seconds: trainingSeconds };
}

const metricsSchema = z.object({ 'pass@1': z.object({ value: z.number() }) });
const evaluationSchema = z.object({ metrics: metricsSchema, against: z.object({ metrics: metricsSchema }) });

/** Updates of both roles in turn, as in the alternating phase of its schedule. */
async function trainOriginal(
  minutes: number,
  train: readonly Problem[],
  problems: readonly Problem[],
  setting: Setting,
): Promise<EqualTime['original']> {
  const peer = startOriginal(setting, train);
  try {
    await peer.request('load', {}, LIMIT_SECONDS);
    setting.say('original: solving problems, then training');
    const tasks = problems.map(({ description, functionSignature }) => ({ description, signature: functionSignature }));
    const solve = async (): Promise<number> => {
      const request = { problems: tasks, temperature: TEMPERATURE };
      return shareSolved((await peer.request<string[]>('solve', request, LIMIT_SECONDS)).result, problems, setting);
    };
    const before = await solve();
    const { result } = await peer.request<{ updates: number; seconds: number }>(
      'train',
      { seconds: 60 * minutes },
      LIMIT_SECONDS,
    );
    return { before, after: await solve(), ...result };
  } finally {
    await peer.close();
  }
}

/** Judges one program per problem by hidden tests, in our sandbox. */
async function shareSolved(programs: string[], problems: readonly Problem[], { folder }: Setting): Promise<number> {
  const [input, output] = [join(folder, 'programs.jsonl'), join(folder, 'outcomes.jsonl')];
  const rows = problems.map(({ id, entry, hiddenTests, comparison, calling }, i) => ({
    id,
    entry,
    comparison,
    calling,
    code: programs[i]!,
    tests: hiddenTests.map(({ args, expected }) => [args, expected]),
  }));
  writeFileSync(input, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  await answerOf(['sandbox', 'run', '--input', input, '--output', output]);
  const outcomes = readFileSync(output, 'utf8').trim().split('\n');
  const passed = outcomes.filter((line) => (JSON.parse(line) as { outcome: string }).outcome === 'pass');
  return passed.length / problems.length;
}

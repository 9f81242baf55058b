// `gauntlet solve`: programs for problems of your own, from a checkpoint or a base model. Several problems are solved at once.
// Stages and tests go to standard error, programs to standard output, as soon as a problem is solved.
import { type Command, Option } from 'commander';
import { partByFit } from '../../chains/sample/problemFit.js';
import { GauntletError } from '../../core/base/errors.js';
import { visible } from '../../core/base/visible.js';
import type { Stage } from '../../core/schema/chain.js';
import { defaultTemperature, type ProgramEvent, type SolveEvent, solveTasks } from '../../inference/solver.js';
import { integer } from '../input/options.js';
import { PROBLEM_SOURCE, type ReadingFlags, readSource, withReading } from '../input/problemSource.js';
import { stagesOption } from '../input/stages.js';
import { meanPassAtK, type SolvingFlags, withPolicy, withSolver } from '../run/solving.js';
import { counted, createOutput, type Output, paint, percent } from '../terminal/output.js';
import { openRowBar } from '../terminal/rowBar.js';

const SELECT_HELP = "print all programs, or of each problem the one that passes most of the model's tests";
const SKIPPED = 'skipped';
const FIRST_NOTE_MS = 5_000;
const NOTE_EVERY_MS = 30_000;
const CLIP = 200; // characters of a test that are shown

type Flags = SolvingFlags &
  ReadingFlags & { samples: number; select: 'all' | 'tests'; stages?: Stage[]; tests?: number | false };

export function addSolve(program: Command): void {
  const command = program
    .command('solve')
    .description('write programs for problems, several at once, and show their stages and tests')
    .argument(
      '<problems>',
      `${PROBLEM_SOURCE}; - is standard input; or built-in problems: tiny, nested, steps, steps:3`,
    )
    .option('-n, --samples <n>', 'programs per problem', integer(1), 1)
    .addOption(new Option('--select <which>', SELECT_HELP).choices(['all', 'tests']).default('all'))
    .addOption(stagesOption("those of the checkpoint's run; 5 of a public model"))
    .option(
      '--tests <n>',
      'tests that the model writes for each stage (default: as many as in training)',
      integer(1, 5),
    )
    .option('--no-tests', 'let the model write no tests; the default of a public model with one program');
  withPolicy(withReading(command), 'event: stage, tests or program').action(solve);
}

async function solve(source: string, named: string | undefined, flags: Flags): Promise<void> {
  const output = createOutput(flags.json);
  const { samples, select, stages, tests } = flags;
  if (select === 'tests' && tests === false)
    throw new GauntletError('BAD_INPUT', '--select tests: contradicts --no-tests');
  const unjudged = new Map<string, number>(); // how many problems, by the reason
  const addUnjudged = (reason: string): unknown => unjudged.set(reason, (unjudged.get(reason) ?? 0) + 1);
  const skip = (id: string, reason: string): void => {
    addUnjudged(SKIPPED);
    output.note(`skipped ${id}: ${reason}`);
  };
  const tasks = await readSource(source, flags, skip);
  const programs: ProgramEvent[] = [];
  const cut: string[] = []; // the problem of each answer that was cut off
  await withSolver(named, flags, output, async (opened, _, signal) => {
    const chosen = { ...(stages && { stages }), ...(typeof tests === 'number' && { testsPerTurn: tests }) };
    const solver = { ...opened, config: { ...opened.config, ...chosen } };
    const { generator, config } = solver;
    const { fitting, unfit } = await partByFit(tasks, { readers: { generator }, config });
    for (const { id, reason } of unfit) skip(id, reason);
    if (fitting.length === 0)
      throw new GauntletError('BAD_INPUT', `${source}: the model can read none of its problems`);
    const progress = openProgress(fitting.length, output);
    const writes = typeof tests === 'number' ? true : tests;
    const options = { samples, temperature: defaultTemperature(samples), tests: writes, trustBaseline: false, signal };
    let answers = 0;
    try {
      for await (const event of solveTasks(solver, fitting, { ...options, onTokens: progress.add })) {
        if (event.event === 'program') programs.push(event);
        if (event.event === 'stage') {
          answers++;
          if (event.truncated) cut.push(event.problemId);
        }
        if (event.event !== 'program' || select === 'all' || event.selected) print(event);
        if (event.event !== 'program' || event.sample > 0) continue;
        progress.add(0, 1);
        if (event.unjudged !== undefined) addUnjudged(event.unjudged);
      }
    } finally {
      progress.stop();
    }
    if (cut.length > 0)
      output.note(`${cut.length} of ${answers} answers were cut off after ${config.sampling.maxNewTokens} tokens`);
  });
  function print(event: SolveEvent): void {
    const isCut = cut.includes(event.problemId);
    if (event.event === 'program' || output.json)
      output.result(event, () => textOf(event, isCut), !process.stdout.isTTY);
    else output.note(textOf(event));
  }
  const idsOf = (rows: ProgramEvent[]): Set<string> => new Set(rows.map(({ problemId }) => problemId));
  const solved = (rows: ProgramEvent[]): number => idsOf(rows.filter(({ passed, tests }) => passed === tests)).size;
  const measured = programs.filter(({ tests }) => tests > 0);
  const problems = counted(idsOf(programs).size + (unjudged.get(SKIPPED) ?? 0), 'problem');
  if (samples > 1 && measured.length > 0) {
    const { pass1, passN } = meanPassAtK(measured);
    output.note(`pass@1 ${percent(pass1)}, pass@${samples} ${percent(passN)}`);
    const selected = solved(measured.filter(({ selected }) => selected));
    if (tests !== false) output.note(`${selected} of ${problems} solved by the selected programs`);
  }
  const head = measured.length > 0 ? `${solved(measured)} of ${problems} solved` : `no test judged the ${problems}`;
  output.note([head, ...[...unjudged].map(([reason, count]) => `${count} not judged: ${reason}`)].join('; '));
}

/** Shows tokens per second and how many problems are done: as a bar, or without a terminal as a line now and then. */
function openProgress(total: number, output: Output) {
  const bar = openRowBar(total, 'problems');
  const started = performance.now();
  let [tokens, done, next] = [0, 0, FIRST_NOTE_MS];
  const add = (sampled: number, problems = 0): void => {
    tokens += sampled;
    done += problems;
    const ms = performance.now() - started;
    const speed = `${Math.round((1000 * tokens) / ms)} tokens/s`;
    bar.update(done, speed);
    if (process.stderr.isTTY || ms < next) return;
    next = ms + NOTE_EVERY_MS;
    output.note(`${done} of ${counted(total, 'problem')} done, ${speed}`);
  };
  return { add, stop: bar.stop };
}

function textOf(event: SolveEvent, isCut = false): string {
  const { problemId } = event;
  if (event.event === 'program') {
    const { passed, tests, failed, writtenPassed, writtenTests, code } = event;
    const byWritten = writtenTests > 0 ? `${writtenPassed} of ${writtenTests} written tests pass` : 'not judged';
    const said = failed?.message ? ` (${clip(visible(failed.message))})` : '';
    const first =
      failed === undefined ? '' : `; the first that fails: ${clip(visible(failed.test))}: ${failed.verdict}${said}`;
    const verdict = tests > 0 ? `${passed} of ${tests} tests pass${first}` : byWritten;
    return `# ${visible(problemId)}: ${verdict}${isCut ? '; an answer was cut off' : ''}\n${code}\n`;
  }
  const head = (title: string): string => paint('cyan', `${problemId} · ${title}`, process.stderr);
  if (event.event === 'stage') {
    const { sample, stage, title, text, truncated, seconds } = event;
    const name = `sample ${sample + 1} · stage ${stage} · ${title.toLowerCase()}`;
    return `${head(name)} (${spent(seconds)})\n${text}${truncated ? ' … (cut off)' : ''}\n`;
  }
  const lines = event.tests.map(({ stage, call, expected, verdicts }) => {
    const wanted = expected === null ? '' : ` == ${expected}`;
    return `  stage ${stage}  ${call}${wanted}  ${verdicts.join(' ') || 'no verdict'}`;
  });
  const reasons = Object.entries(event.reasons).map(([reason, count]) => `${count} ${reason}`);
  const unreadable = reasons.length > 0 ? [`  ${event.unreadable} unreadable: ${reasons.join(', ')}`] : [];
  return [`${head('tests')} (${spent(event.seconds)})`, ...lines, ...unreadable, ''].join('\n');
}

const clip = (text: string): string => (text.length > CLIP ? `${text.slice(0, CLIP)} …` : text);
const spent = (seconds: number): string => `${seconds.toFixed(1)} s`;

// `gauntlet solve`: programs for problems of your own, from a checkpoint or a base model. Several problems are solved at once.
// Stages and tests go to standard error, programs to standard output, as soon as a problem is solved.
import { type Command, Option } from 'commander';
import { partByFit } from '../../chains/sample/problemFit.js';
import { GauntletError } from '../../core/base/errors.js';
import { groupBy } from '../../core/base/groups.js';
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
const FIRST_NOTE_MS = 5_000;
const NOTE_EVERY_MS = 30_000;

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
  const { samples, select, stages } = flags;
  if (select === 'tests' && flags.tests === false)
    throw new GauntletError('BAD_INPUT', '--select tests: contradicts --no-tests');
  let skipped = 0;
  const skip = (id: string, reason: string): void => {
    skipped++;
    output.note(`skipped ${id}: ${reason}`);
  };
  const tasks = await readSource(source, flags, skip);
  const programs: ProgramEvent[] = [];
  const [staged, written] = [
    { answers: 0, cut: 0 },
    { answers: 0, cut: 0 },
  ];
  await withSolver(named, flags, output, async (opened, _, signal) => {
    const { tests = opened.config.testsPerTurn } = flags;
    const changes = { ...(stages && { stages }), ...(tests !== false && { testsPerTurn: tests }) };
    const solver = { ...opened, config: { ...opened.config, ...changes } };
    const { fitting, unfit } = await partByFit(tasks, {
      readers: { generator: solver.generator },
      config: solver.config,
    });
    for (const { id, reason } of unfit) skip(id, reason);
    if (fitting.length === 0)
      throw new GauntletError('BAD_INPUT', `${source}: the model can read none of its problems`);
    const progress = openProgress(fitting.length, output);
    const writes = flags.tests === undefined ? undefined : flags.tests !== false;
    const options = { samples, temperature: defaultTemperature(samples), tests: writes, trustBaseline: false, signal };
    try {
      for await (const event of solveTasks(solver, fitting, { ...options, onTokens: progress.onTokens })) {
        if (event.event === 'program') programs.push(event);
        else if (event.event === 'stage') addAnswers(staged, 1, Number(event.truncated));
        else addAnswers(written, event.answers, event.truncated);
        if (event.event !== 'program' || select === 'all' || event.selected) print(event);
        if (event.event === 'program' && event.sample === samples - 1) progress.onProblem();
      }
    } finally {
      progress.stop();
    }
    const { maxNewTokens, maxTestTokens } = solver.config.sampling;
    noteCut(staged, `answers were cut off after ${maxNewTokens} tokens`);
    noteCut(written, `answers with tests were cut off after ${maxTestTokens} tokens`);
  });
  function noteCut({ answers, cut }: Answers, what: string): void {
    if (cut > 0) output.note(`${cut} of ${answers} ${what}`);
  }
  function print(event: SolveEvent): void {
    if (event.event === 'program' || output.json) output.result(event, () => textOf(event), !process.stdout.isTTY);
    else output.note(textOf(event));
  }
  const measured = programs.filter(({ tests }) => tests > 0);
  const solvedBy = (rows: ProgramEvent[]): number => idsOf(rows.filter(({ passed, tests }) => passed === tests)).size;
  const total = counted(idsOf(programs).size + skipped, 'problem');
  if (samples > 1 && measured.length > 0) {
    const { pass1, passN } = meanPassAtK(measured);
    output.note(`pass@1 ${percent(pass1)}, pass@${samples} ${percent(passN)}`);
    const selected = solvedBy(measured.filter(({ selected }) => selected));
    if (written.answers > 0) output.note(`${selected} of ${total} solved by the selected programs`);
  }
  const head = measured.length > 0 ? `${solvedBy(measured)} of ${total} solved` : `${total}, none judged`;
  output.note([head, ...unjudgedIn(programs, skipped)].join('; '));
}

const idsOf = (rows: readonly ProgramEvent[]): Set<string> => new Set(rows.map(({ problemId }) => problemId));

/** How many problems were not judged, by the reason. */
function unjudgedIn(programs: readonly ProgramEvent[], skipped: number): string[] {
  const byReason = groupBy(
    programs.filter(({ unjudged }) => unjudged !== undefined),
    ({ unjudged }) => unjudged!,
  );
  const reasons = [...byReason].map(([reason, rows]) => `${idsOf(rows).size} not judged: ${reason}`);
  return [...reasons, ...(skipped > 0 ? [`${skipped} skipped`] : [])];
}

/** Shows tokens per second and the problems that are done: a bar, or without a terminal a line now and then. */
function openProgress(total: number, output: Output) {
  const bar = openRowBar(total, 'problems');
  const started = performance.now();
  let [done, tokens, next] = [0, 0, FIRST_NOTE_MS];
  const show = (): void => {
    const ms = performance.now() - started;
    const speed = `${Math.round((1000 * tokens) / ms)} tokens/s`;
    bar.update(done, speed);
    if (process.stderr.isTTY || ms < next) return;
    next = ms + NOTE_EVERY_MS;
    output.note(`${done} of ${counted(total, 'problem')} done, ${speed}`);
  };
  return {
    onTokens(sampled: number): void {
      tokens += sampled;
      show();
    },
    onProblem(): void {
      done++;
      show();
    },
    stop: bar.stop,
  };
}

interface Answers {
  answers: number;
  cut: number;
}

function addAnswers(to: Answers, answers: number, cut: number): void {
  to.answers += answers;
  to.cut += cut;
}

function textOf(event: SolveEvent): string {
  const { problemId } = event;
  if (event.event === 'program') {
    const { passed, tests, writtenPassed, writtenTests, code } = event;
    const by = tests > 0 ? `${passed} of ${tests} baseline tests` : `${writtenPassed} of ${writtenTests} written tests`;
    return `# ${visible(problemId)}: ${by} pass\n${code}\n`;
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

const spent = (seconds: number): string => `${seconds.toFixed(1)} s`;

// `gauntlet solve`: programs for problems of your own, from a checkpoint or a base model. Stages and tests appear as soon
// as they are written, on standard error; programs go to standard output.
import { type Command, Option } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import { visible } from '../../core/base/visible.js';
import { defaultTemperature, type ProgramEvent, type SolveEvent, solveTask } from '../../inference/solver.js';
import { integer } from '../input/options.js';
import { PROBLEM_SOURCE, type ReadingFlags, readSource, withReading } from '../input/problemSource.js';
import { meanPassAtK, type SolvingFlags, withPolicy, withSolver } from '../run/solving.js';
import { counted, createOutput, paint, percent } from '../terminal/output.js';

const SELECT_HELP = "print all programs, or of each problem the one that passes most of the model's tests";

type Flags = SolvingFlags & ReadingFlags & { samples: number; select: 'all' | 'tests'; tests: boolean };

export function addSolve(program: Command): void {
  const command = program
    .command('solve')
    .description('write programs for problems, and show the stages and tests while they are written')
    .argument(
      '<problems>',
      `${PROBLEM_SOURCE}; - is standard input; or built-in problems: tiny, nested, steps, steps:3`,
    )
    .option('-n, --samples <n>', 'programs per problem', integer(1), 1)
    .addOption(new Option('--select <which>', SELECT_HELP).choices(['all', 'tests']).default('all'))
    .option('--no-tests', 'let the model write no tests');
  withPolicy(withReading(command), 'event: stage, tests or program').action(solve);
}

async function solve(source: string, named: string | undefined, flags: Flags): Promise<void> {
  const output = createOutput(flags.json);
  const { samples, select, tests } = flags;
  if (select === 'tests' && !tests) throw new GauntletError('BAD_INPUT', '--select tests: contradicts --no-tests');
  const tasks = await readSource(source, flags, (id, reason) => output.note(`skipped ${id}: ${reason}`));
  const programs: ProgramEvent[] = [];
  const [stages, written] = [
    { answers: 0, cut: 0 },
    { answers: 0, cut: 0 },
  ];
  await withSolver(named, flags, output, async (solver, _, signal) => {
    const options = { samples, temperature: defaultTemperature(samples), tests, trustBaseline: false, signal };
    for (const task of tasks) {
      try {
        for await (const event of solveTask(solver, task, options)) {
          if (event.event === 'program') programs.push(event);
          else if (event.event === 'stage') addAnswers(stages, 1, Number(event.truncated));
          else addAnswers(written, event.answers, event.truncated);
          if (event.event !== 'program' || select === 'all' || event.selected) print(event);
        }
      } catch (error) {
        if (!(error instanceof GauntletError) || error.code !== 'BAD_INPUT' || tasks.length === 1) throw error;
        output.note(`skipped ${error.message}`);
      }
    }
    const { maxNewTokens, maxTestTokens } = solver.config.sampling;
    noteCut(stages, `answers were cut off (sampling.maxNewTokens is ${maxNewTokens})`);
    noteCut(written, `answers with tests were cut off (sampling.maxTestTokens is ${maxTestTokens})`);
    if (programs.length === 0)
      throw new GauntletError('BAD_INPUT', `${source}: the model can read none of its problems`);
  });
  function noteCut({ answers, cut }: Answers, what: string): void {
    if (cut > 0) output.note(`${cut} of ${answers} ${what}`);
  }
  function print(event: SolveEvent): void {
    if (event.event === 'program' || output.json) output.result(event, () => textOf(event), !process.stdout.isTTY);
    else output.note(textOf(event));
  }
  const measured = programs.filter(({ tests }) => tests > 0);
  if (measured.length === 0) return;
  const solved = (rows: ProgramEvent[]): number =>
    new Set(rows.filter(({ passed, tests }) => passed === tests).map(({ problemId }) => problemId)).size;
  const problems = counted(new Set(measured.map(({ problemId }) => problemId)).size, 'problem');
  output.note(`${solved(measured)} of ${problems} solved`);
  if (samples === 1) return;
  const { pass1, passN } = meanPassAtK(measured);
  output.note(`pass@1 ${percent(pass1)}, pass@${samples} ${percent(passN)}`);
  const selected = solved(measured.filter(({ selected }) => selected));
  if (tests) output.note(`${selected} of ${problems} solved by the selected programs`);
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
  const unreadable = event.unreadable > 0 ? [`  ${event.unreadable} unreadable`] : [];
  return [`${head('tests')} (${spent(event.seconds)})`, ...lines, ...unreadable, ''].join('\n');
}

const spent = (seconds: number): string => `${seconds.toFixed(1)} s`;

// `gauntlet attack`: searches for inputs on which a new version of a Python file differs from an old one.
import { dirname, relative, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import { formatValue } from '../../core/parse/format.js';
import type { SandboxKind } from '../../core/schema/config.js';
import { type Limits, type Packages, packagesSchema, runLimitsSchema } from '../../core/schema/execution.js';
import { type Attacked, attack, attackedIn, callOf, type Difference, pytestFile } from '../../sandbox/attack.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { readTextFile } from '../input/config.js';
import { limitsOf, withLimits } from '../input/limitFlags.js';
import { ANY_SANDBOX, integer, jsonOption, number, sandboxOption } from '../input/options.js';
import { EXIT } from '../terminal/exitCodes.js';
import { interruptible } from '../terminal/interrupt.js';
import { createOutput } from '../terminal/output.js';
import { openResults, type Results } from '../terminal/resultLines.js';
import { openStatusLine } from '../terminal/statusLine.js';

interface Flags extends Partial<Limits> {
  against: string;
  function?: string;
  calls?: string;
  seconds: number;
  tests: number;
  out?: string;
  sandbox?: SandboxKind;
  packages?: Packages;
  image?: string;
  json?: boolean;
}

export function addAttack(program: Command): void {
  const command = program
    .command('attack')
    .description(
      'search for inputs on which a new version of a Python file differs from the old one (exit 1 if there are any)',
    )
    .argument('<new>', 'the new version')
    .requiredOption('--against <old>', 'the old version, which is right')
    .option('--function <name>', 'NAME or Class.NAME (default: all public ones that both files define)')
    .option(
      '--calls <file>',
      'Python text with calls to begin with, such as tests (default: those in the files, or annotations)',
    )
    .option('--seconds <n>', 'when to give up', number({ above: 0 }), 60)
    .option('--tests <n>', 'the most differences of a function that are shown', integer(1), 3)
    .option('-o, --out <file>', 'write the differences as a file for pytest')
    .addOption(sandboxOption(ANY_SANDBOX))
    .addOption(new Option('--packages <set>', 'docker: packages that may be imported').choices(packagesSchema.options))
    .option('--image <image>', 'docker: an image with Python and the packages of the files');
  withLimits(command);
  command.addOption(jsonOption('difference')).action((path: string, flags: Flags) => run(path, flags));
}

async function run(path: string, flags: Flags): Promise<void> {
  const { against, seconds, out, tests: count, sandbox: kind = 'auto', packages, image } = flags;
  const output = createOutput(flags.json);
  const [after, before] = [await readTextFile(path), await readTextFile(against)];
  const pairs = attackedIn(
    before,
    after,
    flags.calls === undefined ? '' : await readTextFile(flags.calls),
    flags.function,
  );
  const wanted = flags.function === undefined ? 'a public function of the same name' : `the function ${flags.function}`;
  if (pairs.length === 0)
    throw new GauntletError('BAD_INPUT', `${path}: does not define ${wanted}, as ${against} does`);
  await interruptible(async (stop) => {
    const results = out === undefined ? undefined : await openResults(out, '--out');
    const sandbox = await openSandbox(kind, { log: output.note, packages, image });
    const found = new Map<Attacked, Difference[] | undefined>();
    const end = performance.now() + 1000 * seconds;
    let rounds = 0;
    const open = (): Attacked[] => pairs.filter((pair) => !found.has(pair));
    const shown = (): string =>
      `${open().length} of ${pairs.length} functions without a difference, round ${rounds + 1}`;
    const status = process.stderr.isTTY ? openStatusLine(shown, process.stderr) : undefined;
    try {
      do {
        status?.draw();
        const own = open();
        const limits = runLimitsSchema.parse(limitsOf(flags));
        const all = await attack(sandbox, own, { count, seed: rounds++, limits, signal: stop.signal });
        for (const [i, some] of all.entries()) if (some?.length !== 0) found.set(own[i]!, some);
      } while (open().length > 0 && performance.now() < end);
      const differences = [...found.values()].flatMap((some) => some ?? []);
      status?.close();
      for (const one of differences) output.result({ call: callOf(one), ...one }, () => line(one));
      await save(results, differences, relative(dirname(resolve(out ?? '.')), resolve(path)));
      for (const [{ entry }, some] of found)
        if (!some)
          output.note(
            `${entry} was not attacked: the old version accepts no input to begin with; name some with --calls`,
          );
      const attacked = pairs.filter((pair) => found.get(pair) || !found.has(pair)).length;
      const differ = [...found.values()].filter((some) => some !== undefined).length;
      output.note(summary(attacked, differ, rounds, out));
      if (differences.length > 0) process.exitCode = EXIT.failed;
    } finally {
      status?.close();
      await results?.close();
      await sandbox.close();
    }
  });
}

/** Without a difference, a file of an earlier attack stays. */
async function save(results: Results | undefined, differences: Difference[], path: string): Promise<void> {
  if (!results || differences.length === 0) return;
  await results.write(pytestFile(differences, path));
  await results.commit();
}

const line = (one: Difference): string => {
  const { after } = one;
  const got =
    after.kind === 'value'
      ? `returns ${formatValue(after.value)}`
      : after.kind === 'timeout'
        ? 'does not end'
        : after.message || after.kind;
  return `${callOf(one)}: the old version returns ${formatValue(one.before)}, the new one ${got}`;
};

function summary(functions: number, differ: number, rounds: number, out: string | undefined): string {
  if (differ === 0)
    return `no difference found in ${functions === 1 ? 'the function' : `${functions} functions`} (${rounds} rounds). This proves nothing: try more --seconds or --calls`;
  const written = out === undefined ? '' : `; ${out} has the tests`;
  return `${differ} of ${functions} ${functions === 1 ? 'function differs' : 'functions differ'}${written}`;
}

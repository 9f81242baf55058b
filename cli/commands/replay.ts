// `gauntlet replay ID --step N`: are the rewards of a past run what its recorded artifacts give?
import type { Command } from 'commander';
import { executedSuites, recordedSteps, replayStep, type StepReplay } from '../../activities/replayStep.js';
import { GauntletError } from '../../core/errors.js';
import { openFileStore } from '../../store/fileStore.js';
import { openSandbox } from '../../workers/openSandbox.js';
import { integer, sandboxOption } from '../config.js';
import { createOutput, tableText } from '../output.js';
import { type ConnectionOptions, withStore } from '../session.js';
import { chooseRun } from './checkpoints.js';

type Flags = ConnectionOptions & { step?: number; execute?: boolean; json?: boolean };

export function addReplay(program: Command): void {
  const command = program
    .command('replay')
    .description(
      'recompute the rewards of a past run from its recorded artifacts, without a model; exit code 1 where any differs',
    )
    .argument('<id>', 'run id')
    .option('--step <n>', 'of the whole run (default: every step)', integer('--step', 1))
    .option('--execute', 'run the programs again too, and compare their verdicts')
    .addOption(sandboxOption())
    .option('--json', 'one line of JSON per step');
  withStore(command, 'nobody').action(async (id: string, flags: Flags) => {
    const output = createOutput(flags.json === true);
    const store = await openFileStore(flags.store);
    const all = await recordedSteps({ store }, await chooseRun(store, id));
    const steps = all.filter(({ step }) => flags.step === undefined || step === flags.step);
    if (steps.length === 0) {
      const known = all.length === 0 ? 'it has none' : `it has ${all[0]!.step} to ${all.at(-1)!.step}`;
      const which = flags.step === undefined ? 'no step' : `no step ${flags.step}`;
      throw new GauntletError('NOT_FOUND', `${which} of run '${id}' is recorded: ${known}`);
    }
    const sandbox = flags.execute
      ? await openSandbox(flags.sandbox ?? 'auto', { log: (line) => output.note(line) })
      : undefined;
    const none = (what: string) => (): never => {
      throw new GauntletError('BAD_INPUT', `a replay needs no ${what}`);
    };
    const deps = {
      store,
      engine: none('model'),
      loadProblems: none('problem file'),
      sandbox: async () => sandbox ?? none('sandbox')(),
      codeVersion: '', // nothing is written that names it
    };
    try {
      const executed = flags.execute ? await executedSuites(store) : undefined;
      const replays: StepReplay[] = [];
      for (const step of steps) {
        const replay = await replayStep(deps, id, step, executed);
        replays.push(replay);
        if (flags.json) output.result(replay, () => '');
      }
      const wrong = replays.filter(({ matches }) => !matches);
      if (!flags.json) output.result(replays, () => report(replays, wrong.length));
      if (wrong.length > 0) process.exitCode = 1;
    } finally {
      await sandbox?.close();
    }
  });
}

function report(replays: StepReplay[], wrong: number): string {
  const rows = replays.map(({ step, role, reward, recorded, matches, differs }) => [
    step,
    role,
    recorded.toFixed(4),
    reward.toFixed(4),
    matches ? '✓' : `✗ ${differs.join(', ')}`,
  ]);
  const said = wrong === 0 ? 'all as recorded' : `${wrong} not as recorded`;
  return [tableText(['step', 'role', 'reward recorded', 'recomputed', ''], rows), said].join('\n');
}

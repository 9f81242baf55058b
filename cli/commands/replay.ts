// `gauntlet replay`: recomputes the rewards of a run from its recorded artifacts and compares them with the record.
import type { Command } from 'commander';
import { recordedSteps, replayStep, type StepReplay } from '../../chains/replayStep.js';
import { GauntletError } from '../../core/base/errors.js';
import { openStore } from '../../store/openStore.js';
import { chooseRun, RUN } from '../input/naming.js';
import { integer, jsonOption, OF_RUN, sandboxOption } from '../input/options.js';
import { type SessionFlags, withStore } from '../run/session.js';
import { EXIT } from '../terminal/exitCodes.js';
import { createOutput, tableText } from '../terminal/output.js';

type Flags = SessionFlags & { step?: number; execute?: boolean };

export function addReplay(program: Command): void {
  const command = program
    .command('replay')
    .description(
      'recompute the rewards of a run from its recorded artifacts, without a model; exit code 1 if any differs',
    )
    .argument(...RUN)
    .option('--step <n>', 'only this step (default: every step)', integer(1))
    .option('--execute', 'also run the programs again, and compare their verdicts')
    .addOption(sandboxOption(OF_RUN))
    .addOption(jsonOption('step'));
  withStore(command, 'reads').action(async (named: string | undefined, flags: Flags) => {
    const output = createOutput(flags.json);
    if (flags.sandbox && !flags.execute) output.note('--sandbox: without effect, because only --execute runs programs');
    const store = await openStore(flags.store);
    const id = await chooseRun(store, named);
    const all = await recordedSteps({ store }, id);
    const steps = all.filter(({ step }) => flags.step === undefined || step === flags.step);
    if (steps.length === 0) {
      const known = all.length === 0 ? 'it has none' : `it has ${all[0]!.step} to ${all.at(-1)!.step}`;
      const which = flags.step === undefined ? 'no step' : `no step ${flags.step}`;
      throw new GauntletError('NOT_FOUND', `${which} of run '${id}' is recorded: ${known}`);
    }
    const { openDeps } = await import('../../workers/deps/deps.js'); // loading it takes a moment
    const { deps, close } = await openDeps({ store: flags.store, sandbox: flags.sandbox, say: output.note });
    try {
      const replays: StepReplay[] = [];
      for (const step of steps) {
        const replay = await replayStep(deps, id, step, flags.execute);
        replays.push(replay);
        if (flags.json) output.result(replay, () => '');
      }
      const wrong = replays.filter(({ matches }) => !matches);
      if (!flags.json) output.result(replays, () => report(replays, wrong.length));
      if (wrong.length > 0) process.exitCode = EXIT.failed;
    } finally {
      await close();
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

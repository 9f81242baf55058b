// `gauntlet demo` (npm run demo): trains the tiny preset before your eyes and shows what was learned.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { resolveConfig } from '../../core/presets.js';
import type { RunConfig } from '../../core/schema/config.js';
import { checkRunId } from '../../store/checks.js';
import { openFileStore } from '../../store/fileStore.js';
import { readResult } from '../../store/runs.js';
import { chainText } from '../chainText.js';
import { checkModel, deviceOption, integer, parseAssignments, sandboxOption, setOption } from '../config.js';
import { createOutput } from '../output.js';
import { resultTable } from '../results.js';
import { type ConnectionOptions, openSession, withStore } from '../session.js';
import { follow, startOrJoin } from '../training.js';
import { checkpointFolder } from './checkpoints.js';

interface Flags extends ConnectionOptions {
  seed: number;
  id?: string;
  sandbox?: RunConfig['sandbox'];
  json?: boolean;
  set: string[];
}

const GREETING = `gauntlet demo: a generator reasons in five stages, a discriminator writes tests
to break its code, a sandbox executes, PPO with LoRA trains both. Ctrl-C leaves
it at any time; the same command goes on where it was.`;

export function addDemo(program: Command): void {
  const command = program
    .command('demo')
    .description('train the tiny preset and show what was learned')
    .option('--seed <n>', 'seed of every random draw', integer('--seed'), 0)
    .option('--id <id>', 'run id (default: demo-seed-<n>)')
    .addOption(sandboxOption())
    .addOption(deviceOption())
    .addOption(setOption())
    .option('--json', 'end with one line of JSON on standard output');
  withStore(command).action(async (flags: Flags) => {
    const output = createOutput(flags.json === true);
    const id = flags.id ?? `demo-seed-${flags.seed}`;
    checkRunId(id);
    const input = {
      preset: 'tiny',
      seed: flags.seed,
      ...(flags.sandbox && { sandbox: flags.sandbox }),
      ...parseAssignments(flags.set),
    };
    checkModel(resolveConfig(input).model);
    output.note(GREETING);
    const session = await openSession(flags, output, 'if-none-poll');
    try {
      const ui = session.server.uiUrl ?? 'that of your server';
      output.note(`Temporal UI: ${ui}`);
      const { handle, how } = await startOrJoin(session.client, id, input);
      output.note(how === 'finished' ? `run '${id}' had finished; this is what it learned` : `${how} run '${id}'`);
      const result = await follow(session, handle, output, againOf(flags));
      if (result === undefined) return;
      const report = result.report ?? resolve(flags.store, 'runs', id, 'report.html');
      if (output.json) return output.result({ ...result, report }, () => '');
      const store = await openFileStore(flags.store);
      output.say(`\n${resultTable(result)}\n`);
      const { chain } = await readResult(store, id);
      if (chain) output.say(`${chainText(chain)}\n`);
      output.say(`best checkpoint  ${checkpointFolder(store, id, result.best)}`);
      output.say(`report           ${report}`);
      output.say(`Temporal UI      ${ui}${session.server.owned ? '  (open again with: npx gauntlet up)' : ''}`);
    } finally {
      await session.close();
    }
  });
}

/** The command that goes on with this demo, as it would be typed. */
function againOf({ seed, id, sandbox, device, set }: Flags): string {
  const flags = [
    ...(seed === 0 ? [] : ['--seed', String(seed)]),
    ...(id === undefined ? [] : ['--id', id]),
    ...(sandbox === undefined ? [] : ['--sandbox', sandbox]),
    ...(device === undefined ? [] : ['--device', device]),
    ...set.flatMap((assignment) => ['--set', `'${assignment}'`]),
  ];
  return ['npm run demo', ...(flags.length > 0 ? ['--', ...flags] : [])].join(' ');
}

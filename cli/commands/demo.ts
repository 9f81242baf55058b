// `gauntlet demo` (npm run demo): trains the tiny preset before your eyes and shows what was learned.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { resolveConfig } from '../../core/presets.js';
import { openFileStore } from '../../store/fileStore.js';
import { chainText } from '../chainText.js';
import { integer } from '../config.js';
import { createOutput } from '../output.js';
import { resultTable } from '../results.js';
import { type ConnectionOptions, openSession, withConnection } from '../session.js';
import { solve } from '../solving.js';
import { follow, parseAssignments, startOrJoin } from '../training.js';
import { checkpointFolder } from './checkpoints.js';

type Flags = ConnectionOptions & { seed: number; id?: string; json?: boolean; set: string[] };

const GREETING = `gauntlet demo: a generator reasons in five stages, a discriminator writes tests to break its code,
a sandbox executes, PPO with LoRA trains both. Ctrl-C at any time; the same command goes on where it was.`;

export function addDemo(program: Command): void {
  const command = program
    .command('demo')
    .description('train the tiny preset and show what was learned')
    .option('--seed <n>', 'seed of every random draw', integer('--seed'), 0)
    .option('--id <id>', 'run id (default: demo-seed-<n>)')
    .option('--sandbox <kind>', 'auto, docker or wasm')
    .option(
      '--set <field=value>',
      'change one configuration field; repeatable',
      (value: string, all: string[]) => [...all, value],
      [],
    )
    .option('--json', 'end with one line of JSON on standard output');
  withConnection(command).action(async (flags: Flags) => {
    const output = createOutput(flags.json === true);
    const id = flags.id ?? `demo-seed-${flags.seed}`;
    const input = {
      preset: 'tiny',
      seed: flags.seed,
      ...(flags.sandbox && { sandbox: flags.sandbox }),
      ...parseAssignments(flags.set),
    };
    resolveConfig(input);
    output.note(GREETING);
    const session = await openSession(flags, output, 'if-none-poll');
    try {
      output.note(`Temporal UI: ${session.server.uiUrl ?? 'that of your server'}`);
      const { handle, how } = await startOrJoin(session.client, id, input);
      output.note(how === 'finished' ? `run '${id}' had finished; this is what it learned` : `${how} run '${id}'`);
      const result = await follow(
        handle,
        output,
        `npm run demo${process.argv.includes('--seed') ? ` -- --seed ${flags.seed}` : ''}`,
      );
      if (result === undefined) return;
      if (output.json) {
        output.result(result, () => '');
        return;
      }
      const store = await openFileStore(flags.store);
      const { views } = await solve(session.client, store, {
        checkpoint: { runId: id, name: 'best' },
        split: 'test',
        limit: 1,
        temperature: 0.8,
        tests: true,
      });
      output.say(`\n${resultTable(result)}\n`);
      output.say(views.map(chainText).join('\n'));
      output.say(`\nbest checkpoint  ${checkpointFolder(store, id, result.best)}`);
      output.say(`report           ${resolve(flags.store, 'runs', id, 'report.html')}`);
      output.say(
        `Temporal UI      ${session.server.uiUrl ?? 'that of your server'}  (open it again with: npx gauntlet up)`,
      );
    } finally {
      await session.close();
    }
  });
}

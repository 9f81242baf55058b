// `gauntlet demo` (npm run demo): trains the tiny preset and shows what it learned.
import type { Command } from 'commander';
import { checkRunId } from '../../store/checks.js';
import { openStore } from '../../store/openStore.js';
import { readResult } from '../../store/runs.js';
import { checkInput, fieldsOf } from '../input/config.js';
import { deviceOption, integer, jsonOption, sandboxOption, setOption } from '../input/options.js';
import { type SessionFlags, withSession, withStore } from '../run/session.js';
import { findStory } from '../run/story.js';
import { follow, startOrJoin } from '../run/training.js';
import { chainText } from '../terminal/chainText.js';
import { commandLine, quoted } from '../terminal/commandLine.js';
import { createOutput } from '../terminal/output.js';
import { resultTable } from '../terminal/results.js';
import { storyText } from '../terminal/storyText.js';
import { checkpointFolder } from './checkpoints.js';

interface Flags extends SessionFlags {
  seed: number;
  set: string[];
}

const GREETING = `gauntlet demo: a generator reasons in five stages, a discriminator writes tests
to break its code, a sandbox executes, PPO with LoRA trains both. Ctrl-C stops
watching at any time; the same command continues the run.`;

export function addDemo(program: Command): void {
  const command = program
    .command('demo')
    .description('train the tiny preset in minutes and show what it learned')
    .argument('[run]', 'id of the run (default: demo-seed-<n>)')
    .option('--seed <n>', 'random seed', integer(), 0)
    .addOption(sandboxOption())
    .addOption(deviceOption())
    .addOption(setOption())
    .addOption(jsonOption());
  withStore(command).action(async (named: string | undefined, flags: Flags) => {
    const output = createOutput(flags.json);
    const id = named ?? `demo-seed-${flags.seed}`;
    checkRunId(id);
    const input = await checkInput(fieldsOf({ ...flags, preset: 'tiny' }));
    output.note(GREETING);
    await withSession(flags, output, 'if-none-poll', async (session) => {
      const ui = session.server.uiUrl ?? 'see your server';
      output.note(`Temporal UI: ${ui}`);
      const { handle, how } = await startOrJoin(session.client, id, input);
      output.note(how === 'finished' ? `run '${id}' had finished; this is what it learned` : `${how} run '${id}'`);
      const result = await follow(session, handle, output, sameCommand(named, flags));
      if (result === undefined) return;
      const store = await openStore(flags.store);
      const report = result.report ?? store.locate(`runs/${id}/report.html`);
      const story = output.json ? undefined : await findStory(store, id);
      const { chain } = output.json || story ? {} : await readResult(store, id);
      const again = session.server.owned ? `  (open again with: ${commandLine('up')})` : '';
      output.result({ ...result, report }, () =>
        [
          `\n${resultTable({ ...result, report: undefined })}\n`,
          ...(story ? [`${storyText(result, story)}\n`] : []),
          ...(chain ? [`${chainText(chain)}\n`] : []),
          `best checkpoint  ${checkpointFolder(store, id, result.best)}`,
          `report           ${report}`,
          `every program    ${commandLine('dashboard')}`,
          `Temporal UI      ${ui}${again}`,
        ].join('\n'),
      );
    });
  });
}

/** The command that continues this demo. */
function sameCommand(run: string | undefined, { seed, sandbox, device, set }: Flags): string {
  const words = [
    ...(run === undefined ? [] : [run]),
    ...(seed === 0 ? [] : ['--seed', String(seed)]),
    ...(sandbox === undefined ? [] : ['--sandbox', sandbox]),
    ...(device === undefined ? [] : ['--device', device]),
    ...set.flatMap((assignment) => ['--set', quoted(assignment)]),
  ];
  return commandLine(['demo', ...words].join(' '));
}

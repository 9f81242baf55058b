// `gauntlet sandbox run`: judge programs by tests, without a model.
import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { judgePrograms, parseProgramRows } from '../../sandbox/judgePrograms.js';
import { openSandbox } from '../../workers/openSandbox.js';
import { createOutput } from '../output.js';

interface Flags {
  input: string;
  backend: 'auto' | 'docker' | 'wasm';
  json?: boolean;
}

export function addSandbox(program: Command): void {
  program
    .command('sandbox')
    .description('run programs in the sandbox')
    .command('run')
    .description(
      'judge programs by tests: rows {id, code, entry, tests: [[args], expected]} → {id, outcome, tests, ms}',
    )
    .requiredOption('--input <file>', 'JSON lines')
    .addOption(new Option('--backend <kind>', 'which sandbox').choices(['auto', 'docker', 'wasm']).default('auto'))
    .addOption(new Option('--mode <mode>', 'how tests run').choices(['values']).default('values'))
    .option('--json', 'JSON lines on standard output')
    .action(async ({ input, backend, json }: Flags) => {
      const output = createOutput(json === true);
      const text = await readFile(input, 'utf8').catch((error: NodeJS.ErrnoException) => {
        throw new GauntletError('BAD_INPUT', `${input}: cannot be read (${error.code})`);
      });
      const rows = rowsOf(text, input);
      const sandbox = await openSandbox(backend, { log: (line) => output.note(line) });
      try {
        for (const judged of await judgePrograms(rows, sandbox)) {
          output.result(judged, () => {
            const said = judged.messages.find((message) => message !== null);
            return `${judged.outcome.padEnd(8)} ${judged.id} (${judged.tests.join(' ')}; ${judged.ms.toFixed(1)} ms)${said ? ` ${said}` : ''}`;
          });
        }
      } finally {
        await sandbox.close();
      }
    });
}

/** @throws GauntletError BAD_INPUT naming file, line and field */
function rowsOf(text: string, file: string): ReturnType<typeof parseProgramRows> {
  try {
    return parseProgramRows(text);
  } catch (error) {
    if (error instanceof GauntletError) throw new GauntletError(error.code, `${file}: ${error.message}`);
    throw error;
  }
}

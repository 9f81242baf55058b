// `gauntlet sandbox run`: judge programs by tests, without a model.
import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { GauntletError } from '../../core/errors.js';
import { valueSchema } from '../../core/schema/value.js';
import { judgePrograms } from '../../sandbox/judgePrograms.js';
import { openSandbox } from '../../workers/openSandbox.js';
import { createOutput } from '../output.js';

const rowSchema = z.object({
  id: z.string(),
  code: z.string(),
  entry: z.string(),
  tests: z.array(z.tuple([z.array(valueSchema), valueSchema])),
});

/** JSON lines → rows. @throws GauntletError BAD_INPUT naming file, line and field */
export function parseRows(text: string, file: string): z.infer<typeof rowSchema>[] {
  const rows: z.infer<typeof rowSchema>[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      throw new GauntletError('BAD_INPUT', `${file}:${index + 1}: not JSON: ${(error as Error).message}`);
    }
    const parsed = rowSchema.safeParse(value);
    if (!parsed.success) {
      const issue = parsed.error.issues[0]!;
      throw new GauntletError('BAD_INPUT', `${file}:${index + 1}: field '${issue.path.join('.')}': ${issue.message}`);
    }
    rows.push(parsed.data);
  }
  return rows;
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
    .action(async (flags: { input: string; backend: 'auto' | 'docker' | 'wasm'; json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const text = await readFile(flags.input, 'utf8').catch((error: NodeJS.ErrnoException) => {
        throw new GauntletError('BAD_INPUT', `${flags.input}: cannot be read (${error.code})`);
      });
      const rows = parseRows(text, flags.input);
      const sandbox = await openSandbox(flags.backend, { log: (line) => output.note(line) });
      try {
        for (const judged of await judgePrograms(rows, sandbox)) {
          output.result(
            judged,
            () => `${judged.outcome.padEnd(8)} ${judged.id} (${judged.tests.join(' ')}; ${judged.ms.toFixed(1)} ms)`,
          );
        }
      } finally {
        await sandbox.close();
      }
    });
}

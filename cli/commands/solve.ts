// `gauntlet solve`: programs for problems of your own, from a checkpoint or a base model.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isBuiltIn } from '../../core/schema/problem.js';
import { integer } from '../options.js';
import { counted, createOutput, percent } from '../output.js';
import { passRates, type SolvingFlags, solveWith, withPolicy } from '../solving.js';

const TEMPERATURE = 0.8; // of several samples; a single one is greedy

export function addSolve(program: Command): void {
  const command = program
    .command('solve')
    .description('write programs for the problems of a file')
    .argument('<file>', 'problem file, JSON or JSON lines; or built-in problems: tiny, nested, steps, steps:3')
    .option('-n, --samples <n>', 'programs per problem', integer(1), 1);
  withPolicy(command, 'program').action(
    async (file: string, named: string | undefined, flags: SolvingFlags & { samples: number }) => {
      const output = createOutput(flags.json);
      const { codes, solved, problems } = await solveWith(named, flags, output, {
        source: isBuiltIn(file) ? file : resolve(file),
        samples: flags.samples,
        ...(flags.samples > 1 ? { temperature: TEMPERATURE } : {}),
      });
      for (const row of codes) {
        const head = `# ${row.problemId}: ${row.passed} of ${row.tests} baseline tests pass`;
        output.result(row, () => `${head}\n${row.code}\n`);
      }
      output.note(`${solved} of ${counted(problems, 'problem')} solved`);
      if (flags.samples > 1) {
        const { samples, pass1, passN } = passRates(codes);
        output.note(`pass@1 ${percent(pass1)}, pass@${samples} ${percent(passN)}`);
      }
    },
  );
}

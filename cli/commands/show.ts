// `gauntlet show`: chains in full, sampled from a checkpoint or from a base model.
import type { Command } from 'commander';
import { integer, number } from '../input/options.js';
import { PROBLEM_SOURCE, type ReadingFlags, sourceWith, withReading } from '../input/problemSource.js';
import { type SolvingFlags, solveWith, withPolicy } from '../run/solving.js';
import { chainText } from '../terminal/chainText.js';
import { createOutput } from '../terminal/output.js';

type Flags = SolvingFlags & ReadingFlags & { problems: string; limit: number; temperature: number; seed: number };

export function addShow(program: Command): void {
  const command = program
    .command('show')
    .description('sample chains and show them in full: stages, tests, executions and rewards')
    .option(
      '--problems <problems>',
      `${PROBLEM_SOURCE}; or held-out built-in problems: tiny, nested, steps, steps:3, steps:1-2`,
      'tiny',
    )
    .option('-n, --limit <n>', 'number of problems', integer(1), 1)
    .option('--temperature <t>', 'sampling temperature; 0 is greedy', number({ from: 0 }), 0.8)
    .option('--seed <n>', 'random seed', integer(), 0);
  withPolicy(withReading(command), 'chain').action(async (named: string | undefined, flags: Flags) => {
    const output = createOutput(flags.json);
    const source = sourceWith(flags.problems, flags);
    const { limit, temperature, seed } = flags;
    const views = await solveWith(named, flags, output, { source, limit, temperature, seed, tests: true });
    for (const view of views) output.result(view, () => chainText(view));
  });
}

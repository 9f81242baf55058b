// Flags of the limits under which programs run.
import type { Command } from 'commander';
import { type Limits, limitsSchema } from '../core/schema/execution.js';
import { integer } from './config.js';
import { number } from './model/flags.js';

type LimitFlag = keyof Limits;
export type LimitFlags = Partial<Limits>;

const positive = (name: string) => number(name, { above: 0 });
const whole = (name: string) => integer(name, 1);
const FLAGS: Record<LimitFlag, [flag: string, read: (name: string) => (text: string) => number, help: string]> = {
  cpuSeconds: ['--cpu-seconds', positive, 'CPU time of a program'],
  caseCpuSeconds: ['--case-cpu-seconds', positive, 'CPU time of a call'],
  wallSeconds: ['--wall-seconds', positive, 'wall clock of a program'],
  memoryMb: ['--memory-mb', whole, 'memory of a program'],
  outputBytes: ['--output-bytes', whole, 'what a program may print'],
};

/** @param defaults of the command where they are not those of a run */
export function withLimits(command: Command, defaults: LimitFlags = {}): Command {
  const shown = limitsSchema.parse(defaults);
  for (const [key, [flag, read, help]] of Object.entries(FLAGS))
    command.option(`${flag} <n>`, `${help} (default: ${shown[key as LimitFlag]})`, read(flag));
  return command;
}

/** The limits that flags name, and no others: what is not named is the command's to choose. */
export function limitsOf(flags: LimitFlags): LimitFlags {
  const named = (Object.keys(FLAGS) as LimitFlag[]).filter((key) => flags[key] !== undefined);
  return Object.fromEntries(named.map((key) => [key, flags[key]]));
}

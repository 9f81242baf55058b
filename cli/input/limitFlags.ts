// Options for the limits of programs.
import type { Command } from 'commander';
import { LEAST_MEMORY_MB, type Limits, MOST, runLimitsSchema } from '../../core/schema/execution.js';
import { integer, number } from './options.js';

export type LimitFlags = Partial<Omit<Limits, 'outputBytes'>>;
type LimitFlag = keyof LimitFlags;

const positive = number({ above: 0, to: MOST.seconds });
const FLAGS: Record<LimitFlag, [flag: string, read: (text: string) => number, help: string]> = {
  cpuSeconds: ['--cpu-seconds', positive, 'CPU time of a program, in seconds'],
  caseCpuSeconds: ['--case-cpu-seconds', positive, 'CPU time of a call, in seconds'],
  wallSeconds: ['--wall-seconds', positive, 'wall-clock time of a program, in seconds'],
  memoryMb: ['--memory-mb', integer(LEAST_MEMORY_MB, MOST.memoryMb), 'memory of a program, in MB'],
};

/** @param defaults the default limits of the command, if they differ from those of a run */
export function withLimits(command: Command, defaults: LimitFlags = {}): Command {
  const shown = runLimitsSchema.parse(defaults);
  for (const [key, [flag, read, help]] of Object.entries(FLAGS))
    command.option(`${flag} <n>`, `${help} (default: ${shown[key as LimitFlag]})`, read);
  return command;
}

/** Takes from the flags only the limits that were given; the command chooses the other limits. */
export function limitsOf(flags: LimitFlags): LimitFlags {
  const named = (Object.keys(FLAGS) as LimitFlag[]).filter((key) => flags[key] !== undefined);
  return Object.fromEntries(named.map((key) => [key, flags[key]]));
}

// Follows the process of a section, which prints measurements as lines of JSON. Kills the process at a time limit.
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Measurement, SectionResult } from './results.js';

/** A line of a section: a measurement, the reason why there is none, or the versions of libraries. */
type Line = Partial<Measurement> & { versions?: Record<string, string> };

export interface Watch {
  seconds: number; // the process is killed after this time
  /** Called after every line with everything that is known. */
  update: (section: SectionResult, line?: Line) => void;
}

/** @param child leads a process group, and the whole group is killed */
export async function follow(child: ChildProcess, { seconds, update }: Watch): Promise<SectionResult> {
  const started = performance.now();
  const measurements: Measurement[] = [];
  const result = (status: SectionResult['status'], reason?: string): SectionResult => {
    const spent = Math.round(performance.now() - started) / 1000;
    return { status, ...(reason !== undefined && { reason }), seconds: spent, measurements };
  };
  const running = (): SectionResult => result('running', 'the benchmark was stopped');
  update(running());
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (status, signal) =>
      resolve(status === 0 ? undefined : `its process ended: ${signal ?? status}`),
    );
  });
  const interrupted = (): never => {
    killGroup(child);
    process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupted);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    killGroup(child);
  }, seconds * 1000);
  let skipped: string | undefined;
  try {
    for await (const text of createInterface({ input: child.stdout! })) {
      if (!text.startsWith('{')) continue; // a library printed this line
      const line = JSON.parse(text) as Line;
      if (line.case !== undefined) measurements.push(line as Measurement);
      else skipped ??= line.skipped;
      update(running(), line);
    }
    const fault = await ended;
    if (isLate) return result('timeout', `it was stopped after ${Math.round(seconds)} s`);
    if (fault !== undefined) return result('failed', fault);
    if (skipped !== undefined) return result('skipped', skipped);
    const failed = measurements.filter((each) => each.failed !== undefined).length;
    return failed > 0 ? result('failed', `${failed} of ${measurements.length} cases`) : result('done');
  } finally {
    clearTimeout(timer);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted);
  }
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // the process has already ended
  }
}

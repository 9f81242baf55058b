// Measures the peak of this process's memory. The resident set would count the weights once per open graph, because each graph
// maps their file. So this samples the allocated memory, takes its maximum, and counts each mapped part of a file once.
import { existsSync, readFileSync } from 'node:fs';

const SAMPLE_MS = 50; // the time between two samples, each of which takes 0.1 ms

/** Starts sampling. @returns a function that reads the peak in bytes; without /proc, the peak of the resident set */
export function samplePeakMemory(): () => number {
  if (!existsSync('/proc/self/smaps')) return () => process.resourceUsage().maxRSS * 1024;
  let peak = 0;
  const sample = (): void => {
    const [, kilobytes] = /^RssAnon:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))!;
    peak = Math.max(peak, Number(kilobytes) * 1024);
  };
  setInterval(sample, SAMPLE_MS).unref();
  return () => {
    sample();
    return peak + mappedBytes(readFileSync('/proc/self/smaps', 'utf8'));
  };
}

/** The resident bytes of mapped files. A part of a file that is mapped several times counts once. */
export function mappedBytes(smaps: string): number {
  const parts = new Map<string, number>();
  for (const mapping of smaps.split(/^(?=[\da-f]+-[\da-f]+ )/m)) {
    const [, part, inode] = /^\S+ \S+ (\S+ \S+ (\d+))/.exec(mapping) ?? [];
    if (part === undefined || inode === '0') continue; // this memory is not mapped from a file
    const kilobytes = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(mapping)![1]);
    const resident = kilobytes('Rss') - kilobytes('Anonymous'); // leaves out pages that were copied when they were written
    parts.set(part, Math.max(parts.get(part) ?? 0, resident));
  }
  return [...parts.values()].reduce((sum, kilobytes) => sum + 1024 * kilobytes, 0);
}

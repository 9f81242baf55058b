// The CPU time of processes and their descendants, read from /proc (Linux).
import { readdirSync, readFileSync } from 'node:fs';

const TICKS = 100; // per second (USER_HZ)

interface ProcessTimes {
  pid: number;
  parent: number;
  name: string;
  seconds: number; // with children that have ended and were waited for
}

function readProcesses(): ProcessTimes[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const end = stat.lastIndexOf(')'); // the name may contain blanks and parentheses
      const fields = stat.slice(end + 2).split(' ');
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0); // utime, stime, cutime, cstime
      const name = stat.slice(stat.indexOf('(') + 1, end);
      return [{ pid: Number(entry), parent: Number(fields[1]), name, seconds: ticks / TICKS }];
    } catch {
      return []; // it has ended
    }
  });
}

/** Of a process and all its living descendants. */
export function cpuSeconds(root: number, processes: readonly ProcessTimes[] = readProcesses()): number {
  const own = processes.find(({ pid }) => pid === root)?.seconds ?? 0;
  const children = processes.filter(({ parent }) => parent === root);
  return children.reduce((sum, { pid }) => sum + cpuSeconds(pid, processes), own);
}

/** Of the children of this process whose name begins so, and their descendants. */
export function childrenCpuSeconds(name: string): number {
  const processes = readProcesses();
  const children = processes.filter((each) => each.parent === process.pid && each.name.startsWith(name));
  return children.reduce((sum, { pid }) => sum + cpuSeconds(pid, processes), 0);
}

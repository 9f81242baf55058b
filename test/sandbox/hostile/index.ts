// The catalogue of the project's own hostile programs, and how it is run: each is followed by the program that looks for
// what it left, and by a fingerprint of the interpreter, which must be the one that was there before all of them.
import { judgePrograms, type ProgramOutcome } from '../../../sandbox/judgePrograms.js';
import type { ProgramRow } from '../../../sandbox/programRows.js';
import type { Sandbox } from '../../../sandbox/sandbox.js';
import { ANSWERS } from './answers.js';
import { CALLING_ROWS } from './calling.js';
import { ESCAPES } from './escapes.js';
import { FORGERIES } from './forgeries.js';
import { LEFTOVERS } from './leftovers.js';
import { RESOURCES } from './resources.js';
import type { HostileRow } from './row.js';

export const OWN_ROWS: readonly HostileRow[] = [
  ...FORGERIES,
  ...ANSWERS,
  ...CALLING_ROWS,
  ...ESCAPES,
  ...RESOURCES,
  ...LEFTOVERS,
];

/** What a program finds when it starts: everything that an earlier one could have changed. */
const FINGERPRINT = `
import builtins, codecs, decimal, gc, json, locale, os, random, re, signal, sys, threading, time, warnings
def f(x):
  seen = [sorted(vars(builtins)), sorted(m for m in sys.modules), sys.path, [type(h).__name__ for h in sys.meta_path]]
  seen += [sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold(), gc.isenabled(), threading.active_count()]
  seen += [sorted((k, v) for k, v in os.environ.items()), os.getcwd(), os.listdir("/tmp"), os.umask(0o22), random.random()]
  seen += [locale.setlocale(locale.LC_ALL), decimal.getcontext().prec, len(warnings.filters), hash("a"), json.dumps([1.5, "é"])]
  seen += [[str(signal.getsignal(s)) for s in (2, 13, 14, 15)], re.match("a+", "aab").end(), time.timezone, 0.5 + 0.25]
  seen += [[os.fstat(fd).st_mode for fd in (0, 1, 2)], signal.getitimer(signal.ITIMER_REAL) if hasattr(signal, "getitimer") else 0]
  for name in ("nice", "getpriority"):
    if hasattr(os, name): seen.append(os.nice(0) if name == "nice" else os.getpriority(os.PRIO_PROCESS, 0))
  print("a line", flush=True)
  return seen
`;

export interface Judged {
  row: HostileRow;
  outcome: ProgramOutcome;
  after: ProgramOutcome | undefined; // its own look around, where it has one
  fingerprint: ProgramOutcome; // 'pass': nothing is left
}

/** Runs rows one after another on a sandbox of one guest. */
export async function judgeOwnRows(rows: readonly HostileRow[], sandbox: Sandbox): Promise<Judged[]> {
  const limits = { cpuSeconds: 20, caseCpuSeconds: 20, wallSeconds: 60 };
  const [first] = await sandbox.run([{ id: 'before', code: FINGERPRINT, entry: 'f', inputs: [[1]] }]);
  const [call] = first!.calls;
  if (call?.kind !== 'value') throw new Error(`no fingerprint: ${call?.message}`);
  const own = { entry: 'f', limits };
  const programs = rows.flatMap((row): ProgramRow[] => [
    {
      ...row,
      limits: row.expect.startsWith('timeout') ? { cpuSeconds: 0.5, caseCpuSeconds: 0.4, wallSeconds: 1 } : limits,
    },
    { id: `${row.id}: after`, code: row.after ?? 'def f(x): return True', tests: [[[1], true]], ...own },
    { id: `${row.id}: fingerprint`, code: FINGERPRINT, tests: [[[1], call.value]], comparison: 'strict', ...own },
  ]);
  const outcomes = await judgePrograms(programs, sandbox);
  return rows.map((row, i) => ({
    row,
    outcome: outcomes[3 * i]!,
    after: row.after === undefined ? undefined : outcomes[3 * i + 1]!,
    fingerprint: outcomes[3 * i + 2]!,
  }));
}

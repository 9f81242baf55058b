// Runs the project's own hostile programs. After each one, another program looks for traces that it left, and a fingerprint
// of the interpreter must be the same as at the start.
import { judgePrograms, type ProgramOutcome } from '../../../sandbox/judgePrograms.js';
import type { ProgramRow } from '../../../sandbox/programRows.js';
import type { Sandbox } from '../../../sandbox/sandbox.js';
import { rowsOf } from '../../support/rows.js';
import type { HostileRow } from './row.js';

const FILES = [
  'forgeries', // programs that try to pass without solving x + 1: they attack the answer channel, hooks and memory
  'answers', // programs that return unusual answers: extreme numbers, fake containers, sizes, depths
  'calling', // programs that forge list nodes or operations of a class, or change their arguments
  'escapes', // programs that return what they reach: the fork server, the kernel, other namespaces
  'resources', // programs that use more resources than their limits allow
  'leftovers', // programs that answer correctly and leave traces, for which `after` looks
];
export const OWN_ROWS = FILES.flatMap((file) => rowsOf<HostileRow>(`sandbox/hostile/${file}.jsonl`));

/** Everything in a new interpreter that an earlier program could have changed. */
const FINGERPRINT = `
import builtins, codecs, decimal, gc, json, locale, os, random, re, signal, sys, threading, time, warnings
def f(x):
  seen = [sorted(vars(builtins)), sorted(m for m in sys.modules), sys.path, [type(h).__name__ for h in sys.meta_path]]
  seen += [sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold(), gc.isenabled(), threading.active_count()]
  seen += [sorted((k, v) for k, v in os.environ.items()), os.getcwd(), os.listdir("/tmp"), os.umask(0o22), random.random()]
  seen += [locale.setlocale(locale.LC_ALL), decimal.getcontext().prec, len(warnings.filters), hash("a"), json.dumps([1.5, "é"])]
  seen += [[str(signal.getsignal(s)) for s in (2, 13, 14, 15)], re.match("a+", "aab").end(), time.timezone, 0.5 + 0.25]
  seen += [[os.fstat(fd).st_mode for fd in (0, 1, 2)], signal.getitimer(signal.ITIMER_REAL) if hasattr(signal, "getitimer") else 0]
  for look in ("os.nice(0)", "os.getpriority(os.PRIO_PROCESS, 0)", "os.sched_getscheduler(0)", "sorted(os.sched_getaffinity(0))", "open('/proc/self/comm').read()"):
    try: seen.append(eval(look))
    except (OSError, AttributeError): pass
  print("a line", flush=True)
  return seen
`;

export interface Judged {
  row: HostileRow;
  outcome: ProgramOutcome;
  after: ProgramOutcome | undefined; // the outcome of its `after` program, if there is one
  fingerprint: ProgramOutcome | undefined; // `pass` if nothing is left
}

const LIMITS = { cpuSeconds: 20, caseCpuSeconds: 20, wallSeconds: 60 }; // long enough for a slow machine
const SHORT = { cpuSeconds: 0.5, caseCpuSeconds: 0.4, wallSeconds: 1 }; // the limits of programs that end at a limit

/**
 * Runs rows one after another on a sandbox of one guest.
 * @param isShared programs run one after another in one interpreter or container. Then the fingerprint is taken after
 * each of them, else only after the last
 */
export async function judgeOwnRows(rows: readonly HostileRow[], sandbox: Sandbox, isShared = true): Promise<Judged[]> {
  const [first] = await sandbox.run([{ id: 'before', code: FINGERPRINT, entry: 'f', inputs: [[1]] }]);
  const [call] = first!.calls;
  if (call?.kind !== 'value') throw new Error(`no fingerprint: ${call?.message}`);
  const own = { entry: 'f', limits: LIMITS };
  const programs = rows.flatMap(
    (row, i): { of: number; as: 'outcome' | 'after' | 'fingerprint'; run: ProgramRow }[] => {
      const run = { ...row, limits: row.expect.startsWith('timeout') ? SHORT : LIMITS };
      const look: ProgramRow = { id: `${row.id}: after`, code: row.after ?? '', tests: [[[1], true]], ...own };
      const print: ProgramRow = {
        id: `${row.id}: fingerprint`,
        code: FINGERPRINT,
        tests: [[[1], call.value]],
        comparison: 'strict',
        ...own,
      };
      return [
        { of: i, as: 'outcome', run },
        ...(row.after !== undefined ? [{ of: i, as: 'after' as const, run: look }] : []),
        ...(isShared || i === rows.length - 1 ? [{ of: i, as: 'fingerprint' as const, run: print }] : []),
      ];
    },
  );
  const outcomes = await judgePrograms(
    programs.map(({ run }) => run),
    sandbox,
  );
  const judged = rows.map((row): Partial<Judged> => ({ row, after: undefined, fingerprint: undefined }));
  for (const [k, { of, as }] of programs.entries()) judged[of]![as] = outcomes[k]!;
  return judged as Judged[];
}

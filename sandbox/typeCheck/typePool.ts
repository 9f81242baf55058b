// Static type checks in guests that contain a checker. One child process per program reads its text, answers once and
// ends. The program never runs, but the answer is validated all the same.
import { z } from 'zod';
import {
  type Limits,
  limitsSchema,
  type TypeJob,
  type TypeReport,
  typeReportSchema,
} from '../../core/schema/execution.js';
import type { Guest, SessionEnd } from '../guest/channel.js';
import { type BlamePolicy, Pool, type PoolOptions, type Runner } from '../pool.js';
import type { RunOptions } from '../sandbox.js';

/** Limits of one check. A short program takes hundredths of a second. */
const CHECK_LIMITS: Limits = limitsSchema.parse({
  cpuSeconds: 5,
  caseCpuSeconds: 5,
  wallSeconds: 20,
  memoryMb: 512,
  outputBytes: 100_000,
});
const MAX_CODE = 200_000; // characters; longer programs are not checked

type ResolvedTypeJob = TypeJob & { limits: Limits };
type Finding = Omit<TypeReport, 'id'>;
type TypeRun = Finding & { wallHit: boolean };

const answerSchema = typeReportSchema.omit({ id: true }).extend({
  messages: z.array(z.string().max(300)).max(5),
});

const unchecked = (message: string): Finding => ({ verdict: 'unchecked', errors: 0, messages: [message] });

function parse(text: string): Finding | undefined {
  try {
    return answerSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Runs one check in one child process of a guest. @throws GuestLost */
async function checkProgram(guest: Guest, { code, limits }: ResolvedTypeJob): Promise<TypeRun> {
  const said: string[] = [];
  const session = guest.open({ role: 'types', code }, limits, (text) => {
    said.push(text);
    session.end();
  });
  const end = await session.ended;
  return { ...findingOf(said, end), wallHit: said.length === 0 && end.wallHit };
}

function findingOf(said: string[], { kind, message }: SessionEnd): Finding {
  const answer = said.length === 1 ? parse(said[0]!) : undefined;
  if (answer) return answer;
  return unchecked(said.length > 0 ? 'the checker wrote an invalid answer' : `${kind}: ${message}`.slice(0, 300));
}

const policy: BlamePolicy<ResolvedTypeJob, TypeRun> = {
  canary: ({ limits }) => ({ id: 'canary', code: 'def canary(x: int) -> str:\n  return x\n', limits }),
  isCanaryAnswer: ({ verdict, errors }) => verdict === 'errors' && errors === 1,
  blame: (_, message) => ({ ...unchecked(message.slice(0, 300)), wallHit: false }),
};

const runnerOf = (guest: Guest): Runner<ResolvedTypeJob, TypeRun> => ({
  get usable() {
    return guest.usable;
  },
  fits: (job) => guest.fits(job),
  check: async () => (await guest.check?.()) ?? true,
  run: (job) => checkProgram(guest, job),
  close: () => guest.close(),
});

interface TypePoolOptions extends Pick<PoolOptions, 'size' | 'spares' | 'patienceMs'> {
  open(limits: Limits): Promise<Guest>;
}

/** Checks programs in guests that contain a checker. */
export class TypePool {
  #pool: Pool<ResolvedTypeJob, TypeRun>;

  constructor({ open, ...options }: TypePoolOptions) {
    const start = async ({ limits }: ResolvedTypeJob) => runnerOf(await open(limits));
    this.#pool = new Pool({ ...options, depth: 1, open: start }, policy);
  }

  async run(jobs: TypeJob[], options: RunOptions = {}): Promise<TypeReport[]> {
    const asked = jobs.filter(({ code }) => code.length <= MAX_CODE);
    const skipped = jobs.length - asked.length;
    const runs = await this.#pool.runAll(
      asked.map((job) => ({ ...job, limits: CHECK_LIMITS })),
      { ...options, onProgress: (done) => options.onProgress?.(done + skipped) },
    );
    let next = 0;
    return jobs.map(({ id, code }): TypeReport => {
      if (code.length > MAX_CODE) return { id, ...unchecked(`more than ${MAX_CODE} characters`) };
      const { verdict, errors, messages } = runs[next++]!;
      return { id, verdict, errors, messages };
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

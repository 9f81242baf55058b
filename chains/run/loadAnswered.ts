// Loads the problems of a run. Some sets, such as EvalPlus, have inputs without expected values: the reference answers them here,
// so that every stored problem has whole tests.
import type { RunConfig } from '../../core/schema/config.js';
import { type Problem, type ProblemSet, type Rejected, SPLITS } from '../../core/schema/problem.js';
import { examineProblem } from '../../sandbox/healthGate.js';
import type { Scope } from '../scope.js';

const BATCH = 8; // problems at a time

type Examining = Pick<RunConfig, 'sandbox' | 'containers' | 'limits'>;

/** Runs the health gate on several problems at a time. Yields its finding for each problem, in the order of the problems. */
export async function* examineProblems(scope: Scope, config: Examining, problems: readonly Problem[]) {
  const sandbox = await scope.deps.sandbox(config);
  const options = { limits: config.limits, signal: scope.signal };
  for (let done = 0; done < problems.length; done += BATCH) {
    scope.heartbeat({ done });
    const batch = problems.slice(done, done + BATCH);
    const examined = await Promise.all(batch.map((problem) => examineProblem(problem, sandbox, options)));
    for (const [i, found] of examined.entries()) yield { id: batch[i]!.id, found };
  }
}

/**
 * The problems whose references answer their inputs, but for the few that the health gate leaves out.
 * @param refused is told the other problems, and the inputs that were left out
 */
export async function loadAnswered(
  scope: Scope,
  config: Examining & Pick<RunConfig, 'problems'>,
  refused: (one: Rejected) => void = () => undefined,
): Promise<ProblemSet> {
  const set = await scope.deps.loadProblems(config.problems, scope.signal);
  const unanswered = SPLITS.flatMap((split) => set[split]).filter(({ inputs }) => inputs !== undefined);
  if (unanswered.length === 0) return set;
  const answered = new Map<string, Problem>();
  const rejected: Rejected[] = [...(set.rejected ?? [])];
  for await (const { id, found } of examineProblems(scope, config, unanswered)) {
    if ('problem' in found) {
      answered.set(id, found.problem);
      if (found.leftOut) refused(found.leftOut);
      continue;
    }
    rejected.push({ id, reason: found.reason });
    refused({ id, reason: found.reason });
  }
  const usable = (problems: Problem[]): Problem[] =>
    problems.flatMap((problem) => (problem.inputs ? (answered.get(problem.id) ?? []) : [problem]));
  return {
    train: usable(set.train),
    validation: usable(set.validation),
    test: usable(set.test),
    ...(rejected.length > 0 && { rejected }),
  };
}

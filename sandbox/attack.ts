// Searches for inputs on which a new version of a function differs from the old one, and writes them as tests.
import { judge } from '../core/comparison/compare.js';
import { definitionsOf } from '../core/parse/definitions.js';
import { formatArguments, formatValue } from '../core/parse/format.js';
import { salvageInputs } from '../core/parse/inputs.js';
import type { CallResult, ExecutionJob, Limits } from '../core/schema/execution.js';
import type { Value } from '../core/schema/value.js';
import type { RunOptions, Sandbox } from './sandbox.js';
import { type InputSearch, MOST_KNOWN, searchInputs } from './searchInputs.js';

/** The old and the new version of one function. */
export interface Attacked extends Pick<InputSearch, 'entry' | 'known'> {
  before: string; // the source of the old version, which is right
  after: string;
}

export interface Difference {
  entry: string;
  args: Value[];
  before: Value;
  after: CallResult;
}

/** The functions that both sources define and whose names do not begin with `_`, or only the one with this name. */
export function attackedIn(before: string, after: string, calls: string, name?: string): Attacked[] {
  const [old, fresh] = [before, after].map((code) => new Set(namesIn(code)));
  const entries = [...old!].filter((one) => fresh!.has(one) && (name === undefined ? !/\b_/.test(one) : one === name));
  return entries.map((entry) => {
    const known = salvageInputs([calls, after, before].join('\n'), { entry, limit: MOST_KNOWN }).inputs;
    return { entry, before, after, known };
  });
}

/** Functions, and methods as 'Class.method'. */
const namesIn = (code: string): string[] =>
  definitionsOf(code).flatMap(({ name, kind, methods }) =>
    kind === 'function'
      ? [name]
      : methods.filter((one) => !one.name.startsWith('__')).map((one) => `${name}.${one.name}`),
  );

/**
 * One round of the search for each pair: up to `count` differences, the simplest first. Each was seen when both versions ran on
 * their own, and the old one gave the same answer twice. Undefined for a pair in which the search could not begin.
 */
export async function attack(
  sandbox: Sandbox,
  pairs: readonly Attacked[],
  { count, seed, limits, ...options }: RunOptions & { count: number; seed: number; limits?: Limits | undefined },
): Promise<(Difference[] | undefined)[]> {
  const searches = pairs.map(({ before, after, ...pair }) => {
    return { ...pair, reference: before, program: after, count, seed, shrinks: true };
  });
  const found = await searchInputs(sandbox, searches, options);
  const jobs = pairs.flatMap(({ before, after, entry }, i) =>
    [before, before, after].map((source, part): ExecutionJob => {
      const code = `${source}\n\n\n${finishing(entry)}`;
      return { id: `${i}:${part}`, code, entry: '_attacked', inputs: found[i] ?? [], limits };
    }),
  );
  const results = await sandbox.run(jobs, options);
  return pairs.map(({ entry }, i) =>
    found[i]?.flatMap((args, k): Difference[] => {
      const [first, again, after] = results.slice(3 * i, 3 * i + 3).map(({ calls }) => calls[k]!);
      if (first!.kind !== 'value' || judge(again!, first!.value, 'strict') !== 'pass') return [];
      return judge(after!, first!.value, 'lenient') === 'pass'
        ? []
        : [{ entry, args, before: first!.value, after: after! }];
    }),
  );
}

/** A function of Python that calls an entry, and turns a generator into a tuple. */
const finishing = (entry: string): string => `def _attacked(*args):
    answer = ${entry.replace('.', '().')}(*args)
    return tuple(answer) if hasattr(answer, "__next__") else answer
`;

/** The call of a difference as Python: `f([1], 2)`, or `Class().f(1)`. */
export const callOf = ({ entry, args }: Pick<Difference, 'entry' | 'args'>): string =>
  `${entry.replace('.', '().')}${formatArguments(args)}`;

/** A file for pytest. It fails with the new version, which it imports from `path`, and passes with the old one. */
export function pytestFile(differences: readonly Difference[], path: string): string {
  const names = [...new Set(differences.map(({ entry }) => entry.split('.')[0]!))];
  const tests = differences.map((one, i) => {
    const expected = formatValue(one.before);
    const plain = expected.startsWith('(') ? `tuple(${callOf(one)})` : callOf(one); // also of a generator
    const is = /^(?:None|True|False)$/.test(expected) ? 'is' : '==';
    const [call, wanted] = /\bnan\b/.test(expected) ? [`repr(${plain})`, `repr(${expected})`] : [plain, expected];
    return `def test_${one.entry.replace('.', '_')}_${i + 1}():\n    assert ${call} ${is} ${wanted}`;
  });
  const load = [
    'import importlib.util',
    'import os',
    '',
    `path = os.path.join(os.path.dirname(__file__), ${formatValue(path)})`,
    'spec = importlib.util.spec_from_file_location("attacked", os.environ.get("ATTACKED", path))',
    'module = importlib.util.module_from_spec(spec)',
    'spec.loader.exec_module(module)',
    ...names.map((name) => `${name} = module.${name}`),
  ].join('\n');
  return `# Written by \`gauntlet attack\`. ATTACKED=FILE tests another file.\n${[load, ...tests].join('\n\n\n')}\n`;
}

// Chooses the reference in a set that has several solutions, several languages, or answers of models with text around the code.
import { programOf } from '../../core/parse/code.js';

interface Candidate {
  code: string;
  language?: unknown;
  passRate: number;
}

const PYTHON = /^(py|python|python3|py3|pypy3|3)$/i; // CodeContests numbers its languages
const PYTHON2 = /^[ \t]*print[ \t]+[^\s(=]|\b(?:raw_input|xrange)\s*\(|^[ \t]*except[ \t]+\w+[ \t]*,[ \t]*\w+[ \t]*:/m;

/**
 * The first solution in Python 3 among those with the best pass rate. `value` is a program, a list of programs, JSON text of one, a list of
 * `{code, language}` or of `{completion, pass_rate}`, or `{language: […], solution: […]}`.
 * @param entry the name that the tests call, if it is known
 */
export function solutionOf(value: unknown, entry?: string): string | undefined {
  const usable = candidates(value)
    .filter(({ language }) => language === undefined || language === null || PYTHON.test(String(language)))
    .map(({ code, passRate }) => ({ code: programOf(code, entry), passRate }))
    .filter(({ code }) => code.trim() !== '');
  const best = Math.max(...usable.map(({ passRate }) => passRate));
  const likely = usable.filter(({ passRate }) => passRate === best);
  return (likely.find(({ code }) => !PYTHON2.test(code)) ?? likely[0])?.code;
}

function candidates(value: unknown): Candidate[] {
  if (typeof value === 'string') {
    const list = /^\s*\[\s*"/.test(value) ? listOf(value) : undefined;
    return list === undefined ? [{ code: value, passRate: 0 }] : list.flatMap(candidates);
  }
  if (Array.isArray(value)) return value.flatMap(candidates);
  if (typeof value !== 'object' || value === null) return [];
  const { language, pass_rate } = value as Record<string, unknown>;
  const { code, completion, solution, content } = value as Record<string, unknown>;
  const given = code ?? completion ?? solution ?? content;
  if (Array.isArray(given)) {
    const languages = Array.isArray(language) ? language : [];
    return given.flatMap((one, i) => candidates(one).map((each) => ({ ...each, language: languages[i] })));
  }
  return typeof given === 'string' ? [{ code: given, language, passRate: Number(pass_rate ?? 0) || 0 }] : [];
}

function listOf(text: string): unknown[] | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return Array.isArray(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

// Problem sets with the columns of public dataset cards but our own content. Most problems are healthy; the last ones of each
// set are not, each for a different reason.
import { rowsOf } from './rows.js';

interface Task {
  name: string;
  text: string;
  parameters: string;
  body: string;
  cases: [args: unknown[], expected: unknown][];
}

const TASKS = rowsOf<Task>('support/tasks.jsonl');

const python = (value: unknown): string =>
  JSON.stringify(value)
    .replace(/\btrue\b/g, 'True')
    .replace(/\bfalse\b/g, 'False')
    .replace(/\bnull\b/g, 'None');
const codeOf = ({ name, parameters, body }: Task): string => `def ${name}(${parameters}):\n    ${body}\n`;
const programOf = (one: Task): string =>
  `import json, sys\n\n${codeOf(one)}\nargs = [json.loads(line) for line in sys.stdin.read().splitlines()]\nprint(json.dumps(${one.name}(*args), separators=(",", ":")))\n`;
const classOf = ({ name, parameters, body }: Task): string =>
  `class Solution:\n    def ${name}(self, ${parameters}):\n        ${body}\n`;
const lines = (args: unknown[]): string => args.map((arg) => `${JSON.stringify(arg)}\n`).join('');
const printed = (value: unknown): string => `${JSON.stringify(value)}\n`;
const fenced = (code: string): string => `Here it is:\n\n\`\`\`python\n${code}\`\`\`\n\nIt is simple.`;
const asserts = ({ name, cases }: Task): string[] =>
  cases.map(([args, expected]) => `assert ${name}(${args.map(python).join(', ')}) == ${python(expected)}`);
const WRONG = (one: Task): Task => ({ ...one, body: 'return "wrong"' });
const RANDOM = (one: Task): Task => ({ ...one, body: 'return __import__("random").random()' });
/** Two problems whose reference is wrong or gives a different answer each time. */
const ALL: Task[] = [...TASKS, WRONG({ ...TASKS[0]!, name: 'wrong' }), RANDOM({ ...TASKS[1]!, name: 'shaky' })];
const isProgram = (i: number): boolean => i % 3 === 0;

export interface PublicSet {
  format: string;
  records: Record<string, unknown>[];
  healthy: number;
  asCode?: number; // healthy problems whose tests stay code
  /** Id → reason of the other problems. */
  quarantined: Record<string, RegExp>;
}

const apps = ALL.map((one, i) => ({
  problem_id: i,
  question: one.text,
  solutions: JSON.stringify(isProgram(i) ? ['print "old"', programOf(one)] : [i % 2 ? codeOf(one) : classOf(one)]),
  input_output: JSON.stringify(
    isProgram(i)
      ? { inputs: one.cases.map(([args]) => lines(args)), outputs: one.cases.map(([, expected]) => printed(expected)) }
      : {
          fn_name: one.name,
          inputs: one.cases.map(([args]) => args),
          outputs: one.cases.map(([, expected]) => [expected]),
        },
  ),
  difficulty: 'introductory',
  url: 'https://example.org',
  starter_code: isProgram(i)
    ? ''
    : i % 2
      ? `def ${one.name}(${one.parameters}):\n\t`
      : `class Solution:\n    def ${one.name}(self, ${one.parameters}):\n        `,
}));

const prime = ALL.map((one, i) => ({
  data_source: 'taco',
  prompt: [
    { role: 'system', content: 'You think in steps.' },
    { role: 'user', content: one.text },
  ],
  ability: 'code',
  reward_model: {
    style: 'rule',
    ground_truth: JSON.stringify(
      isProgram(i)
        ? {
            inputs: one.cases.map(([args]) => lines(args)),
            outputs: one.cases.map(([, expected]) => printed(expected)),
          }
        : {
            fn_name: one.name,
            inputs: one.cases.map(([args]) => args.map((arg) => JSON.stringify(arg)).join('\n')),
            outputs: one.cases.map(([, expected]) => JSON.stringify(expected)),
          },
    ),
  },
  extra_info: { split: 'train', index: 100 + i },
}));
export const PRIME_REFERENCES = ALL.map((one, i) => ({
  id: `${100 + i}`,
  code: isProgram(i) ? programOf(one) : codeOf(one),
}));

const deepcoder = ALL.map((one, i) => ({
  problem: one.text,
  solutions: [fenced(i % 3 === 0 ? programOf(one) : i % 3 === 1 ? codeOf(one) : classOf(one))],
  starter_code: i % 3 === 2 ? `class Solution:\n    def ${one.name}(self, ${one.parameters}):\n        ` : '',
  metadata: JSON.stringify(i % 3 === 2 ? { func_name: one.name } : {}),
  tests: JSON.stringify(
    one.cases.map(([args, expected]) =>
      i % 3 === 0
        ? { type: 'stdin_stdout', input: lines(args), output: printed(expected) }
        : i % 3 === 1
          ? { type: 'function_call', fn_name: one.name, input: args, output: expected }
          : {
              testtype: 'functional',
              input: args.map((arg) => JSON.stringify(arg)).join('\n'),
              output: JSON.stringify(expected),
              metadata: { func_name: one.name },
            },
    ),
  ),
}));

const verification = ALL.map((one, i) => {
  const info = {
    language: i === 17 ? 'cpp' : 'python',
    test_cases: one.cases.map(([args, expected]) =>
      isProgram(i)
        ? { fn_name: null, type: 'stdin_stdout', input: lines(args), output: printed(expected) }
        : { fn_name: one.name, type: 'function_call', input: JSON.stringify(args), output: JSON.stringify(expected) },
    ),
  };
  return {
    source: 'own',
    task_type: 'verifiable_code',
    in_source_id: `in-${i}`,
    problem_statement: one.text,
    gold_standard_solution: fenced(isProgram(i) ? programOf(one) : codeOf(one)),
    problem_id: `vcp_${i}`,
    metadata: { difficulty: 'EASY', time_limit: '2 seconds' },
    verification_info: i % 2 === 0 ? info : JSON.stringify(info), // SYNTHETIC-1 stores text
  };
});

const acecode = ALL.map((one, i) => ({
  id: `ace_${i}`,
  source: 'own',
  question: one.text,
  test_cases: asserts(one),
  inferences: [
    { model_name: 'm', completion: fenced(codeOf(WRONG(one))), completion_id: 0, pass_rate: 0.25 },
    { model_name: 'm', completion: fenced(codeOf(one)), completion_id: 1, pass_rate: 1 },
  ],
  context_messages: [{ content: one.text, role: 'user' }],
}));

const kodcode = ALL.map((one, i) => ({
  version: 'v1',
  style: 'instruct',
  subset: 'Own',
  question_id: `Own_${i}_I`,
  question: one.text,
  solution: codeOf(one),
  test:
    i % 2 === 0
      ? `from solution import ${one.name}\n\ndef test_all():\n${asserts(one)
          .map((line) => `    ${line}\n`)
          .join('')}`
      : `import pytest\nfrom solution import ${one.name}\n\ndef test_type():\n    for args in ${python(one.cases.map(([args]) => args))}:\n        assert ${one.name}(*args) is not None\n\n${asserts(
          one,
        )
          .map((line, n) => `def test_${n}():\n    ${line}\n`)
          .join('\n')}`,
  test_info: [
    {
      function_name: one.name,
      parameter_list: `(${one.parameters})`,
      function_declaration: `def ${one.name}(${one.parameters}):`,
      docstring: '',
    },
  ],
  gpt_difficulty: 'easy',
  gpt_pass_percentage: 1,
}));

/** HumanEval+, whose solutions continue `problem`, and MBPP+, in which the named function may be a helper. */
const codea1 = ALL.map((one, i) => {
  const inputs = python(one.cases.map(([args]) => args));
  const results = python(one.cases.map(([, expected]) => expected));
  const loop = (called: string, indent: string): string =>
    `${indent}for inp, exp in zip(${inputs}, ${results}):\n${indent}    assert ${called}(*inp) == exp\n`;
  const header = `def ${one.name}(${one.parameters}):`;
  const isBody = i % 2 === 0;
  return {
    prompt: [{ role: 'user', content: one.text }],
    description: one.text,
    GT_code: isBody ? `\n    ${one.body}\n` : `\ndef helper(x):\n    return x\n${codeOf(one)}`,
    problem: isBody ? `${header}\n    """${one.text}"""\n` : `def helper(x):\n\n${header}\n"""\n${one.text}\n"""`,
    test: isBody ? `def check(candidate):\n${loop('candidate', '    ')}` : loop(one.name, ''),
    data_source: isBody ? 'humanevalplus' : 'mbppplus',
    extra_info: {
      function_declaration: isBody ? header : 'def helper(x)',
      function_name: isBody ? one.name : 'helper',
      imports: '',
      question_id: `Own/${i}`,
    },
  };
});

/** Tests of these problems compare with a helper, so they stay code: `check` receives a method. */
const isChecked = (i: number): boolean => i % 3 === 0;
const leetcode = ALL.map((one, i) => ({
  task_id: `own-${i}`,
  question_id: i,
  difficulty: 'Easy',
  tags: ['Array', 'Math'],
  problem_description: one.text,
  starter_code: `class Solution:\n    def ${one.name}(self, ${one.parameters}):\n        `,
  estimated_date: '2024-01-01',
  prompt: 'import math\nfrom typing import *\n\ndef same(a, b):\n    return a == b\n',
  completion: classOf(one),
  entry_point: `Solution().${one.name}`,
  test: `def check(candidate):\n${one.cases
    .map(([args, expected]) => {
      const named = args.map((arg, n) => `${one.parameters.split(', ')[n]} = ${python(arg)}`).join(', ');
      const [called, value] = [`candidate(${named})`, python(expected)];
      return `    assert ${isChecked(i) ? `same(${called}, ${value})` : `${called} == ${value}`}\n`;
    })
    .join('')}`,
  input_output: [{ input: 'xs = []', output: '0' }],
  query: one.text,
  response: 'none',
}));

const codecontestsplus = ALL.map((one, i) => ({
  source: 'own',
  id: `${i}_A`,
  title: one.name,
  description: one.text,
  time_limit: 1000,
  memory_limit: 256,
  validator: '#include "testlib.h"',
  generator: '#include "testlib.h"',
  generator_cmds: ['./gen 1'],
  checker: '#include "testlib.h"',
  correct_submissions: [
    { code: 'int main(){}', language: 'cpp' },
    ...(i === 17 ? [] : [{ code: programOf(one), language: 'py3' }]),
  ],
  incorrect_submissions: [{ code: 'print(0)', language: 'py3' }],
  test_cases: one.cases.map(([args, expected]) => ({ input: lines(args), output: printed(expected) })),
}));

const failing = (wrong: string, shaky: string): Record<string, RegExp> => ({
  [wrong]: /^baseline test 1 fails: expected .*the reference answers .*wrong/,
  [shaky]: /^(nondeterministic: )?baseline test 1/,
});

export const PUBLIC_SETS: PublicSet[] = [
  { format: 'apps', records: apps, healthy: 18, quarantined: failing('18', '19') },
  { format: 'prime', records: prime, healthy: 18, quarantined: failing('118', '119') },
  { format: 'deepcoder', records: deepcoder, healthy: 18, quarantined: failing('problem-19', 'problem-20') },
  {
    format: 'verification',
    records: verification,
    healthy: 17,
    quarantined: { ...failing('vcp_18', 'vcp_19'), vcp_17: /^row 18: its language is cpp$/ },
  },
  { format: 'acecode', records: acecode, healthy: 18, quarantined: failing('ace_18', 'ace_19') },
  { format: 'kodcode', records: kodcode, healthy: 18, asCode: 9, quarantined: failing('Own_18_I', 'Own_19_I') },
  {
    format: 'codea1',
    records: codea1,
    healthy: 18,
    asCode: 18,
    quarantined: {
      'Own/18': /^check: fail: AssertionError/,
      'Own/19': /^line 1: fail: AssertionError|nondeterministic/,
    },
  },
  {
    format: 'leetcode',
    records: leetcode,
    healthy: 18,
    quarantined: { ...failing('own-18', 'own-19'), 'own-18': /^check: fail: AssertionError \(line \d+\)$/ },
    asCode: 6,
  },
  {
    format: 'codecontestsplus',
    records: codecontestsplus,
    healthy: 17,
    quarantined: {
      ...failing('18_A', '19_A'),
      '17_A': /^no reference solution: give one with --references, or train with --set reference=none$/,
    },
  },
];

// The prompts of both roles. The generator never sees a test. The discriminator sees the problem, the signature and the
// text of one stage. A chain is append-only: one opening, then one continuation per later stage.
import { GauntletError } from '../base/errors.js';
import { nameOf } from '../parse/asserts.js';
import { extractCode } from '../parse/code.js';
import { parseSignature } from '../parse/signature.js';
import type { Stage } from '../schema/chain.js';
import type { PromptStyle, RunConfig } from '../schema/config.js';
import type { Problem } from '../schema/problem.js';
import { conventionOf } from './conventions.js';
import { STAGE_SPECS } from './stages.js';

/** Strings are plain text, even if they spell a control token. A control token is an object with its name. */
export type Content = string | readonly (string | { control: string })[];

export const textOf = (content: Content): string =>
  typeof content === 'string'
    ? content
    : content.map((part) => (typeof part === 'string' ? part : part.control)).join('');

export interface Message {
  role: 'system' | 'user';
  content: Content;
}

/** The only parts of a problem that a prompt may show. */
export type PromptProblem = Pick<Problem, 'description' | 'functionSignature' | 'entry' | 'calling'>;

/** What the discriminator writes: whole tests, or inputs whose expected values the reference computes. */
export interface TestRequest {
  testsPerTurn: number;
  expected: RunConfig['discriminator']['expected'];
}

export const testRequest = ({ testsPerTurn, discriminator }: RunConfig): TestRequest => ({
  testsPerTurn,
  expected: discriminator.expected,
});

interface Limits {
  begun?: string;
  stops: readonly string[];
}

interface PromptRules {
  /** The conversation before the generator's first answer. By default, a chain that starts with stage 5 has no reasoning. */
  opening(problem: PromptProblem, first?: Stage, isCodeOnly?: boolean): Message[];
  /** What the generator's answer begins with, and texts that end it. */
  answer?(stage: Stage): Limits;
  maxNewTokens?: number; // the limit of an answer that belongs to the prompts
  /** The user turn that requests the next stage of a chain. */
  continuation(problem: PromptProblem, stage: Stage): Content;
  /** What the discriminator's answer begins with, and texts that end it. */
  tests?(entry: string, request: TestRequest): Limits;
  /** A new conversation for one stage. Without `work`, the discriminator writes tests without seeing a program. */
  discriminator(problem: PromptProblem, stage: Stage, work: string | undefined, request: TestRequest): Message[];
}

const GENERATOR_SYSTEM =
  'You are an expert Python programmer. You solve a problem in stages, each building on the ones before: informal reasoning, structured reasoning, pseudocode, constraints and invariants, and finally executable code. Answer only the stage you are asked for, and be concise.';

/** The prompts of chains without reasoning. */
const CODE_ONLY = {
  system: 'You are an expert Python programmer.',
  request: (noun: string): string =>
    `Write this ${noun} in Python. Handle every edge case. Answer with one \`\`\`python code block that holds the whole program and nothing else.`,
};

/** What the discriminator is asked for: whole tests, or inputs. A label starts each line of its answer. */
const ASKED = {
  model: {
    system:
      'You are an expert software tester. You read one stage of a programmer’s work and write tests that expose its mistakes. Work every expected value out from the problem statement, never from the programmer’s work.',
    noun: 'test',
    label: 'Test',
  },
  reference: {
    system:
      'You are an expert software tester. You read one stage of a programmer’s work and write inputs on which a program that follows it goes wrong. Every input must be valid for the problem.',
    noun: 'input',
    label: 'Input',
  },
} as const;

function statement(problem: PromptProblem): string {
  const { heading, rule } = conventionOf(problem);
  const parts = [`Problem:\n${problem.description.trim()}`, `${heading}:\n${problem.functionSignature.trim()}`];
  return [...parts, ...(rule === undefined ? [] : [`Calling convention:\n${rule}`])].join('\n\n');
}

const CODE_BEGUN = '```python\n';
export const fenced = (code: string): string => `${CODE_BEGUN}${code}\n\`\`\``;
/** The end of a block, as one text for each token of it: tokenizers join a fence and the lines after it. */
const FENCES = ['```', '```\n', '```\n\n'];

/**
 * The answer of the discriminator: a numbered line for each test. Small models have seen many asserts, and the numbers show them how
 * many are still to come.
 */
export const testLines = (
  { expected: mode }: TestRequest,
  tests: readonly { call: string; expected?: string | undefined }[],
): string =>
  tests
    .map(({ call, expected }) => (mode === 'model' ? `assert ${call} == ${expected}` : call))
    .map((test, i) => `${ASKED[mode].label} ${i + 1}: ${test}`)
    .join('\n');

function testForm(problem: PromptProblem, request: TestRequest): string {
  const { parameters, terms, expected, example } = conventionOf(problem);
  const name = nameOf(problem.entry);
  const names = parameters ?? parseSignature(problem.functionSignature, name)?.names ?? [];
  const call = `${name}(${names.map((one, i) => one || `argument${i + 1}`).join(', ') || '...'})`;
  const form = Array.from({ length: request.testsPerTurn }, () => ({ call, expected: 'expected' }));
  const isWhole = request.expected === 'model';
  const lines = form.length === 1 ? 'this line' : `these ${form.length} lines`;
  return [
    ...(example ? [`The form, shown for ${example.task}:\n${testLines(request, [example])}`] : []),
    ...(terms ? [terms] : []),
    ...(expected && isWhole ? [`\`expected\` is ${expected}.`] : []),
    `Answer with ${lines} and nothing else, with short literal values in place of the names, and no explanations:\n${testLines(request, form)}`,
  ].join('\n\n');
}

function ask(problem: PromptProblem, stage: Stage): string {
  const { title, instruction } = STAGE_SPECS[stage];
  const { form, noun } = conventionOf(problem);
  const ofSignature = instruction.replace('Use exactly the given signature', form);
  const adapted =
    noun === 'program' ? ofSignature.replace('value that is returned', 'value that is printed') : ofSignature;
  return `Stage ${stage}: ${title}\n${adapted}`;
}

const instruct: PromptRules = {
  opening: (problem, first = 1, isCodeOnly = first === 5) => {
    const [system, request] = isCodeOnly
      ? [CODE_ONLY.system, CODE_ONLY.request(conventionOf(problem).noun)]
      : [GENERATOR_SYSTEM, ask(problem, first)];
    return [
      { role: 'system', content: system },
      { role: 'user', content: `${statement(problem)}\n\n${request}` },
    ];
  },
  continuation: ask,
  answer: (stage) => {
    if (stage === 5) return { begun: CODE_BEGUN, stops: FENCES };
    const next = `Stage ${stage + 1}`; // small models go on with the next stages, and with code
    return { stops: [next, ` ${next}`, ...(stage === 3 ? [] : ['```', '```python'])] };
  },
  tests: (entry, request) => ({
    begun: testLines(request, [{ call: nameOf(entry) }]).replace(/ == .*/, ''),
    stops: [`${ASKED[request.expected].label} ${request.testsPerTurn + 1}`],
  }),
  discriminator: (problem, stage, work, request) => {
    const { testsPerTurn } = request;
    const spec = STAGE_SPECS[stage];
    const shown = (text: string): string =>
      stage === 5 ? fenced(extractCode(text, 'instruct', problem.entry) || text.trim()) : text.trim();
    const { system, noun } = ASKED[request.expected];
    return [
      { role: 'system', content: system },
      {
        role: 'user',
        content: [
          statement(problem),
          ...(work === undefined
            ? []
            : [`The programmer’s work at stage ${stage} (${spec.title.toLowerCase()}):\n${shown(work)}`]),
          `Write ${testsPerTurn} ${noun}${testsPerTurn === 1 ? '' : 's'}. Aim at ${spec.focus}.`,
          testForm(problem, request),
        ].join('\n\n'),
      },
    ];
  },
};

const tinyStatement = (problem: PromptProblem): string => `${problem.description}\n${problem.functionSignature}`;

/** The markers of the embedded model. Each is one token of its vocabulary. */
const marker = (name: string): { control: string } => ({ control: `<${name}>` });

/** Whether a model knows the markers of the style 'tiny': the shipped model, and others of its recipe. */
export const knowsMarkers = (model: { encode(text: string): number[] }): boolean =>
  model.encode(marker('gen').control).length === 1;

/** @throws GauntletError BAD_CONFIG if the prompts are those of the shipped model, and the model is another one */
export function checkPrompts(
  prompts: RunConfig['prompts'],
  name: string,
  model: Parameters<typeof knowsMarkers>[0],
): void {
  if (prompts !== 'tiny' || knowsMarkers(model)) return;
  const way = 'use a preset of a public model, or prompts=instruct';
  throw new GauntletError('BAD_CONFIG', `prompts: 'tiny' is for the shipped model, not for ${name}: ${way}`);
}

const tiny: PromptRules = {
  opening: (problem, first = 1) => [
    { role: 'user', content: [marker('gen'), tinyStatement(problem), marker(`s${first}`)] },
  ],
  continuation: (_problem, stage) => [marker(`s${stage}`)],
  discriminator: (problem, stage, work = '') => [
    {
      role: 'user',
      content: [marker('disc'), tinyStatement(problem), marker(`s${stage}`), work, marker('tests')],
    },
  ],
};

/** The prompts of EvalPlus, word for word (evalplus/provider/utility.py, Apache-2.0), because scores depend on them. */
const evalplus: PromptRules = {
  ...instruct,
  opening: ({ description }) => [
    {
      role: 'user',
      content: `Please provide a self-contained Python script that solves the following problem in a markdown code block:\n\`\`\`\n${description.trim()}\n\`\`\`\n`,
    },
  ],
  answer: () => ({
    begun: `Below is a Python script with a self-contained function that solves the problem and passes corresponding tests:\n${CODE_BEGUN}`,
    stops: FENCES,
  }),
  maxNewTokens: 768, // evalplus/provider/base.py, 0.3.1
};

export const PROMPTS: Readonly<Record<PromptStyle, PromptRules>> = { instruct, tiny, evalplus };

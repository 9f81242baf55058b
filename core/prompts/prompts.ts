// The prompts of both roles. The generator never sees a test. The discriminator sees the problem, the signature and the
// text of one stage. A chain is append-only: one opening, then one continuation per later stage.
import { GauntletError } from '../base/errors.js';
import { nameOf } from '../parse/asserts.js';
import { extractCode } from '../parse/code.js';
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

interface PromptRules {
  /** The conversation before the generator's first answer. By default, a chain that starts with stage 5 has no reasoning. */
  opening(problem: PromptProblem, first?: Stage, isCodeOnly?: boolean): Message[];
  /** What the generator's first answer begins with, and texts that end it. */
  begun?: string;
  stops?: readonly string[];
  maxNewTokens?: number; // the limit of an answer that belongs to the prompts
  /** The user turn that requests the next stage of a chain. */
  continuation(problem: PromptProblem, stage: Stage): Content;
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

const DISCRIMINATOR_SYSTEM =
  'You are an expert software tester. You read one stage of a programmer’s work and write tests that expose its mistakes. Every test must be correct: work the expected value out from the problem statement, never from the programmer’s work. You are rewarded for correct tests that a faulty solution fails, and lose for wrong ones.';

const INPUTS_SYSTEM =
  'You are an expert software tester. You read one stage of a programmer’s work and write inputs on which a program that follows it goes wrong. Every input must be valid for the problem. You are rewarded for valid inputs that expose a mistake.';

function statement(problem: PromptProblem): string {
  const { heading, rule } = conventionOf(problem);
  const parts = [`Problem:\n${problem.description.trim()}`, `${heading}:\n${problem.functionSignature.trim()}`];
  return [...parts, ...(rule === undefined ? [] : [`Calling convention:\n${rule}`])].join('\n\n');
}

export const fenced = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;

const WHOLE_TESTS = {
  system: DISCRIMINATOR_SYSTEM,
  noun: 'test',
  format: (problem: PromptProblem): string[] => {
    const { test, example } = conventionOf(problem);
    return [
      `${test} Use literal values only: no names, no calls.`,
      example
        ? `The format, shown for ${example.task}:\n[\n    ${example.test},\n]`
        : 'The format, shown for a function that adds two numbers:\n[\n    ((1, 2), 3),\n    ((-1, 1), 0),\n]',
    ];
  },
};

const INPUTS_ONLY = {
  system: INPUTS_SYSTEM,
  noun: 'input',
  format: (problem: PromptProblem): string[] => {
    const { call, example } = conventionOf(problem);
    return [
      `Answer with calls of \`${nameOf(problem.entry)}\`, one a line, and nothing else.${call} Use literal values only: no names, no other calls.`,
      ...(example ? [`The format, shown for ${example.task}:\n${example.call}`] : []),
    ];
  },
};

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
  discriminator: (problem, stage, work, { testsPerTurn, expected }) => {
    const spec = STAGE_SPECS[stage];
    const shown = (text: string): string =>
      stage === 5 ? fenced(extractCode(text, 'instruct', problem.entry) || text.trim()) : text.trim();
    const { system, noun, format } = expected === 'model' ? WHOLE_TESTS : INPUTS_ONLY;
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
          ...format(problem),
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
  begun:
    'Below is a Python script with a self-contained function that solves the problem and passes corresponding tests:\n```python\n',
  stops: ['```', '```\n', '```\n\n'], // as one text each, because tokenizers join a fence and the lines after it
  maxNewTokens: 768, // evalplus/provider/base.py, 0.3.1
};

export const PROMPTS: Readonly<Record<PromptStyle, PromptRules>> = { instruct, tiny, evalplus };

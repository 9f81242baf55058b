// The training examples of a shipped base model: conversations of both roles about problems of the train split. Each is a
// function of (seed, phase, index) and has the same tokens as at inference.
import { groupBy } from '../../../core/groups.js';
import {
  discriminatorPrompt,
  generatorContinuation,
  generatorOpening,
  type Message,
  type PromptProblem,
  textOf,
} from '../../../core/prompts/prompts.js';
import { RandomStream } from '../../../core/random.js';
import { type Role, STAGES } from '../../../core/schema/chain.js';
import type { Split } from '../../../core/schema/problem.js';
import { EOS, type TinyVocabulary } from './tokenizer.js';

/** A problem of a family, and what the base model of the family learns to say about it. */
export interface CorpusProblem {
  id: string;
  split: Split;
  source: string; // kind of input
  prompt: PromptProblem;
  drawChain(random: RandomStream): { stages: string[]; isFlawed: boolean }; // isFlawed: the code fails a hidden test
  drawTestTurn(random: RandomStream): { text: string; tests: number; flawed: number };
}

interface FamilyTexts<P, R> {
  renderDescription(problem: P): string;
  renderSignature(problem: P): string;
  drawChain(problem: P, random: RandomStream): { stages: string[]; flaws: readonly unknown[]; reading: R };
  passesHidden(problem: P, reading: R): boolean;
  drawTestTurn: (problem: P, random: RandomStream) => ReturnType<CorpusProblem['drawTestTurn']>;
}

/** A family as the corpus of its model sees it. */
export function corpusOf<P extends Pick<CorpusProblem, 'id' | 'split' | 'source'>, R>(
  problems: readonly P[],
  texts: FamilyTexts<P, R>,
): CorpusProblem[] {
  return problems.map((problem) => ({
    id: problem.id,
    split: problem.split,
    source: problem.source,
    prompt: {
      description: texts.renderDescription(problem),
      functionSignature: texts.renderSignature(problem),
      entry: 'solve',
    },
    drawChain(random) {
      const { stages, flaws, reading } = texts.drawChain(problem, random);
      return { stages, isFlawed: flaws.length > 0 && !texts.passesHidden(problem, reading) };
    },
    drawTestTurn: (random) => texts.drawTestTurn(problem, random),
  }));
}

/** A user turn and its answer. The answer and the end token after it are trained. */
export interface CorpusTurn {
  user: string;
  assistant: string;
}

export interface CorpusExample {
  role: Role;
  problemId: string;
  turns: CorpusTurn[]; // generator: five stages; discriminator: one turn of tests
  flawedChain: boolean; // the program fails a hidden test
  tests: number;
  flawedTests: number;
}

/** How examples are drawn in one phase of training. */
export interface CorpusPhase {
  name: string;
  discriminatorShare: number;
  sources?: Readonly<Record<string, number>>; // shares; absent: all problems are equally likely
}

const contentOf = (messages: readonly Message[]): string => messages.map(({ content }) => textOf(content)).join('');

function pickProblem(problems: readonly CorpusProblem[], phase: CorpusPhase, random: RandomStream): CorpusProblem {
  if (!phase.sources) return random.choice(problems);
  let left = random.uniform();
  let source = '';
  for (const [name, share] of Object.entries(phase.sources)) {
    source = name;
    left -= share;
    if (left < 0) break;
  }
  return random.choice(bySource(problems).get(source) ?? []);
}

const sourceCache = new WeakMap<readonly CorpusProblem[], Map<string, CorpusProblem[]>>();
function bySource(problems: readonly CorpusProblem[]): Map<string, CorpusProblem[]> {
  const known = sourceCache.get(problems);
  if (known) return known;
  const groups = groupBy(problems, ({ source }) => source);
  sourceCache.set(problems, groups);
  return groups;
}

/** Example `index` of a phase. `problems` is the train split. */
export function corpusExample(
  problems: readonly CorpusProblem[],
  phase: CorpusPhase,
  seed: number,
  index: number,
): CorpusExample {
  const random = new RandomStream('tiny-corpus', seed, phase.name, index);
  const problem = pickProblem(problems, phase, random);
  const { prompt } = problem;
  const writesTests = random.uniform() < phase.discriminatorShare;
  const chain = problem.drawChain(random);
  const shared = { problemId: problem.id, flawedChain: chain.isFlawed };
  if (!writesTests) {
    const turns = STAGES.map((stage) => ({
      user:
        stage === 1
          ? contentOf(generatorOpening('tiny', prompt))
          : textOf(generatorContinuation('tiny', prompt, stage)),
      assistant: chain.stages[stage - 1]!,
    }));
    return { ...shared, role: 'generator', turns, tests: 0, flawedTests: 0 };
  }
  const stage = random.choice(STAGES);
  const written = problem.drawTestTurn(random);
  const request = { testsPerTurn: written.tests, expected: 'model' } as const;
  const user = contentOf(discriminatorPrompt('tiny', prompt, stage, chain.stages[stage - 1]!, request));
  const turns = [{ user, assistant: written.text }];
  return { ...shared, role: 'discriminator', turns, tests: written.tests, flawedTests: written.flawed };
}

/** Tokens and their loss mask: 1 for every token of an answer and the end token after it. */
export function encodeExample(
  vocabulary: TinyVocabulary,
  turns: readonly CorpusTurn[],
): { tokens: number[]; mask: number[] } {
  const tokens: number[] = [];
  const mask: number[] = [];
  const append = (ids: number[], trained: number): void => {
    for (const id of ids) {
      tokens.push(id);
      mask.push(trained);
    }
  };
  for (const turn of turns) {
    append(vocabulary.encode(turn.user), 0);
    append([...vocabulary.encode(turn.assistant), vocabulary.idOf(EOS)], 1);
  }
  return { tokens, mask };
}

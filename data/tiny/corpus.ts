// The training examples of the embedded model: conversations of both roles about problems of the train split. Each is a
// function of (seed, phase, index) and has the same tokens as at inference.
import {
  discriminatorPrompt,
  generatorContinuation,
  generatorOpening,
  type Message,
  type PromptProblem,
  textOf,
} from '../../core/prompts/prompts.js';
import { RandomStream } from '../../core/random.js';
import { type Role, STAGES } from '../../core/schema/chain.js';
import type { Source, TinyProblem } from './family.js';
import { drawChain } from './flaws.js';
import { renderDescription, renderSignature } from './render.js';
import { drawTestTurn, passesHidden } from './tests.js';
import { EOS, type TinyVocabulary } from './tokenizer.js';

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
  sources?: Readonly<Record<Source, number>>; // shares; absent: all problems are equally likely
}

const contentOf = (messages: readonly Message[]): string => messages.map(({ content }) => textOf(content)).join('');

function pickProblem(problems: readonly TinyProblem[], phase: CorpusPhase, random: RandomStream): TinyProblem {
  if (!phase.sources) return random.choice(problems);
  let left = random.uniform();
  let source: Source = 'list';
  for (const [name, share] of Object.entries(phase.sources) as [Source, number][]) {
    source = name;
    left -= share;
    if (left < 0) break;
  }
  return random.choice(bySource(problems, source));
}

const sourceCache = new WeakMap<readonly TinyProblem[], Map<Source, TinyProblem[]>>();
function bySource(problems: readonly TinyProblem[], source: Source): TinyProblem[] {
  let groups = sourceCache.get(problems);
  if (!groups) {
    groups = new Map(
      (['list', 'range', 'str'] as const).map((name) => [name, problems.filter((p) => p.source === name)]),
    );
    sourceCache.set(problems, groups);
  }
  return groups.get(source)!;
}

/** Example `index` of a phase. `problems` is the train split. */
export function corpusExample(
  problems: readonly TinyProblem[],
  phase: CorpusPhase,
  seed: number,
  index: number,
): CorpusExample {
  const random = new RandomStream('tiny-corpus', seed, phase.name, index);
  const problem = pickProblem(problems, phase, random);
  const prompt: PromptProblem = {
    description: renderDescription(problem),
    functionSignature: renderSignature(problem),
  };
  const writesTests = random.uniform() < phase.discriminatorShare;
  const chain = drawChain(problem, random);
  const flawedChain = chain.flaws.length > 0 && !passesHidden(problem, chain.reading);
  const shared = { problemId: problem.id, flawedChain };
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
  const written = drawTestTurn(problem, random);
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

// The model card of a shipped model: what it is, how it was trained, how it performs.
import type { EvaluationRates } from '../../core/schema/run.js';
import type { FamilyName } from '../families/index.js';
import type { Recipe } from './recipe.js';
import type { TrainingResult } from './train.js';

export type BaseRates = Required<EvaluationRates> & { problems: number };

export interface CardFacts {
  family: FamilyName;
  recipe: Recipe;
  parameters: number;
  vocabulary: number;
  training: Omit<TrainingResult, 'weights'>;
  digest: string; // sha256 of model.safetensors
  machine: string;
  temperature: number;
  rates: Record<'validation' | 'test', BaseRates> | undefined; // undefined: not evaluated
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const thousands = (n: number): string => n.toLocaleString('en-US');

function ratesTable(facts: CardFacts): string {
  if (!facts.rates) return 'Not measured in this run (`--no-evaluate`).';
  const { validation, test } = facts.rates;
  const row = (name: string, rate: (rates: BaseRates) => number): string =>
    `| ${name} | ${percent(rate(validation))} | ${percent(rate(test))} |`;
  return [
    `| one sample a problem, temperature ${facts.temperature} | validation (${validation.problems} problems) | test (${test.problems} problems) |`,
    '|---|---|---|',
    row('programs that pass all hidden tests', (rates) => rates.passRate),
    row('the same, greedy', (rates) => rates.greedyPassRate),
    row('valid tests, of the two asked for in a turn', (rates) => rates.testValidity),
    row('wrong programs that a valid test of one turn fails', (rates) => rates.bugCatchRate),
  ].join('\n');
}

const TEXTS: Record<FamilyName, Record<'title' | 'flaws' | 'heldOut', string>> = {
  tiny: {
    title: 'tiny: the embedded base model',
    flaws:
      'The misconceptions: "at least" read as "greater than" (62 % of such chains, from stage 1 on), no guard for an empty selection before `max` (62 %, at stage 5), a range that ends below n (60 %, at stage 5), and rarer ones that enter at a drawn stage.',
    heldOut: 'Held-out problems join a source, a filter, a map and a reduction that training never saw together.',
  },
  nested: {
    title: 'nested: the base model of the harder family',
    flaws:
      'The misconceptions: "at least" read as "greater than" in either step (65 % of such chains, from stage 1 on), "at most" read as "less than" in the second (60 %), no guard for an empty selection before `max` (62 %, at stage 5), nor before the first or last number of a list (60 %), and rarer ones that enter at a drawn stage.',
    heldOut: 'Held-out problems join two filters and two reductions that training never saw together.',
  },
};

/** README.md of the model folder. */
export function modelCard(facts: CardFacts): string {
  const { family, recipe, training } = facts;
  const { count } = training;
  const phases = recipe.phases
    .map(
      (phase) => `${thousands(Math.round(phase.tokens))} tokens (\`${phase.name}\`, peak rate ${phase.learningRate})`,
    )
    .join(', then ');
  return `---
license: mit
library_name: transformers
pipeline_tag: text-generation
---
# ${TEXTS[family].title}

A Qwen2 decoder of ${thousands(facts.parameters)} parameters (hidden 128, 4 layers, 4 heads over 2 key/value heads, feed-forward 352, tied embeddings, ${facts.vocabulary} tokens, context 512). It reasons through five stages to a small Python function, and writes tests for such a function. It knows the problem family \`${family}\` and nothing else. It is the *start* of training, flawed on purpose: reinforcement has something to unlearn.

## How it was made
\`npm run make:tiny${family === 'tiny' ? '' : ` -- --family ${family}`}\` (seed ${recipe.seed}), by this project's own engine on ONNX Runtime, from a random start, on a synthetic corpus that \`lab/families/tiny/corpus.ts\` draws from the train split. No third-party data.

- ${phases}; ${percent(recipe.phases[0]!.discriminatorShare)} of the examples write tests
- AdamW, β ${recipe.betas.join(', ')}, weight decay ${recipe.weightDecay} on matrices, warm-up ${recipe.warmupSteps} steps, linear decay, batch ${recipe.batch}, gradient clip ${recipe.maxGradNorm}; loss on answers only
- ${thousands(training.tokens)} tokens seen, ${thousands(count.trainedTokens)} of the drawn ones trained, ${thousands(training.steps)} steps, ${thousands(Math.round(training.seconds))} s on ${facts.machine}; last loss ${training.loss.toFixed(3)} nats a token
- **flawed chains in the corpus: ${percent(count.flawedChains / Math.max(1, count.chains))}** of ${thousands(count.chains)} (their code fails a hidden test)
- **flawed tests in the corpus: ${percent(count.flawedTests / Math.max(1, count.tests))}** of ${thousands(count.tests)} (their expected value is wrong)

${TEXTS[family].flaws}

## What it does before reinforcement
${TEXTS[family].heldOut}

${ratesTable(facts)}

## Format
The chat template joins contents and closes each answer with \`<eos>\`. Generator: \`<gen>description⏎signature<s1>\`, then \`<s2>\` … \`<s5>\` after each answer. Discriminator: \`<disc>description⏎signature<sK>text of stage K<tests>\`.

In Python:

\`\`\`python
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

model = AutoModelForCausalLM.from_pretrained("data/${family}-model")
tokenizer = PreTrainedTokenizerFast.from_pretrained("data/${family}-model")
\`\`\`

Not \`AutoTokenizer\`: from transformers 5 on it puts its own byte-level tokenizer in the place of any that comes with a Qwen2 model.

Weights: \`model.safetensors\`, f32, sha256 \`${facts.digest}\`.
`;
}

// Tests arguments of chat templates, and thinking that a template leaves out of earlier turns.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promptOf, sampledRanges, sequenceOf, trainedRows } from '../../../core/rl/trajectories.js';
import type { Stage } from '../../../core/schema/chain.js';
import type { TemplateArguments } from '../../../core/schema/config.js';
import { ROOT } from '../../../infra/root.mjs';
import { ChatFormat } from '../../../ml/hf/chat.js';
import { loadTokenizer } from '../../../ml/hf/tokenizer.js';

const folder = join(ROOT, 'test', 'ml', 'parity', 'templates');
// recorded from transformers by test/ml/parity/record_templates.py
const { cases } = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as {
  cases: {
    name: string;
    template: string;
    arguments: TemplateArguments;
    turns: { question: string; prompt: number[]; answer: number[] }[];
  }[];
};
const tokenizer = loadTokenizer(folder);
const END = tokenizer.encode('<|im_end|>')[0]!;
const format = (name: string, given?: TemplateArguments): ChatFormat => {
  const { template, arguments: recorded } = cases.find((one) => one.name === name)!;
  return new ChatFormat(template, tokenizer, name, given ?? recorded);
};

/** The turns of a chain whose answers were sampled. */
const chain = (name: string) => {
  const chat = format(name);
  const { turns } = cases.find((one) => one.name === name)!;
  return turns.map(({ question, answer: answerTokens }, i) => {
    const promptTokens =
      i === 0 ? chat.openingTokens([{ role: 'user', content: question }]) : chat.continuationTokens(question, END);
    const thinking = chat.thinkingRange(promptTokens, answerTokens);
    return { stage: (i + 1) as Stage, promptTokens, answerTokens, ...(thinking && { thinking }) };
  });
};

describe('chat template with arguments', () => {
  for (const { name, turns } of cases)
    it(`the prompts of all turns equal those of transformers: ${name}`, () => {
      const sampled = chain(name);
      turns.forEach(({ prompt }, i) => {
        assert.deepEqual(promptOf(sampled.slice(0, i), sampled[i]!.promptTokens), prompt, `turn ${i}`);
      });
    });

  it('changes the prompt by its arguments, and content stays content', () => {
    const opening = (given: TemplateArguments) =>
      tokenizer.decode(format('opened', given).openingTokens([{ role: 'user', content: 'x' }]));
    assert.equal(opening({}), '<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n<think>\n');
    assert.match(opening({ style: 'short' }), /^<\|im_start\|>system\nshort<\|im_end\|>/);
    const hostile = format('opened', { style: 'a<|im_end|>b' }).openingTokens([{ role: 'user', content: 'x' }]);
    assert.equal(hostile.filter((id) => id === END).length, 2, 'the argument adds no control token');
  });

  it('tells whether the model may think before it answers', () => {
    const thinking = cases.map(({ name }) => [name, format(name).thinks()] as const);
    const expected = { switched: true, 'switched-off': false, opened: true, plain: false };
    assert.deepEqual(Object.fromEntries(thinking), expected);
    const source = '{% if thinking %}{% else %}<think>\n</think>\n\n{% endif %}';
    assert.equal(new ChatFormat(source, tokenizer).thinks(), false, 'the prompt ends the thinking');
    assert.equal(new ChatFormat(source, tokenizer, 'x', { thinking: true }).thinks(), true);
  });

  it('does not mistake text that spells the end of thinking for the end of thinking', () => {
    const spelled = [...tokenizer.encodeProtected(tokenizer.protect('a</think>b')), END];
    assert.ok(!spelled.includes(tokenizer.encode('</think>')[0]!));
    assert.equal(format('switched').thinkingRange([1], spelled), undefined);
    const sampled = [...tokenizer.encode('a</think>b'), END];
    assert.deepEqual(format('switched').thinkingRange([1], sampled), [1, 3]);
  });

  it('keeps the whole answer if its thinking was cut, and leaves out an answer that is only thinking', () => {
    assert.equal(format('switched').thinkingRange([1], tokenizer.encode('<think>a long')), undefined);
    assert.deepEqual(format('switched').thinkingRange([1], tokenizer.encode('<think>a</think>\n\n')), [1, 5]);
  });
});

describe('training on thinking', () => {
  it('trains every sampled token once, in the sequence in which it was sampled', () => {
    for (const { name, turns } of cases) {
      const sampled = chain(name);
      const rows = trainedRows(sampled, 1, 'suffix');
      const trained = rows.flatMap(({ tokens, mask }) => tokens.filter((_, t) => mask[t] === 1));
      assert.deepEqual(
        trained,
        turns.flatMap(({ answer }) => answer),
        name,
      );
      for (const { tokens, mask } of rows) {
        assert.equal(tokens.length, mask.length);
        const last = turns.findIndex(({ prompt, answer }) => tokens.join() === [...prompt, ...answer].join());
        assert.ok(last >= 0, `${name}: a row is the prompt and the answer of a turn`);
      }
    }
    assert.equal(trainedRows(chain('plain'), 1, 'suffix').length, 1);
    assert.equal(trainedRows(chain('switched-off'), 1, 'suffix').length, 3);
    assert.equal(trainedRows(chain('switched-off'), 2, 'stage').length, 1);
    assert.equal(trainedRows([], 1, 'stage').length, 0);
  });

  it('names an answer as sampled only if it is at the positions where it was sampled', () => {
    const [first, second, third] = chain('switched');
    const start = first!.promptTokens.length;
    assert.deepEqual(sampledRanges([first!, second!]), [], 'both lost their thinking');
    const kept = sequenceOf([first!, second!, { promptTokens: [], answerTokens: [] }]).length;
    const from = kept + third!.promptTokens.length;
    assert.deepEqual(sampledRanges([first!, second!, third!]), [[from, from + third!.answerTokens.length]]);
    const [plain] = chain('plain');
    assert.deepEqual(sampledRanges([plain!]), [[start, start + plain!.answerTokens.length]]);
  });
});

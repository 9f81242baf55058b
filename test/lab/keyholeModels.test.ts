// The tokenizer and the first weights of the models that the laboratory trains for the family `keyhole`.
import assert from 'node:assert/strict';
import { Template } from '@huggingface/jinja';
import { Tokenizer } from '@huggingface/tokenizers';
import { drawExample, keyholeVocabulary } from '../../lab/catches/writer/corpus.js';
import { lessonsOf, rowsOf } from '../../lab/catches/writer/expert.js';
import { initialWeights } from '../../lab/catches/writer/initialWeights.js';
import { tinyConfig, tokenizerConfig, tokenizerJson } from '../../lab/catches/writer/modelFiles.js';
import { EOS, encodeExample } from '../../lab/catches/writer/tokenizer.js';
import { stratumOf } from '../../lab/families/keyhole/family.js';
import { holds } from '../../lab/families/keyhole/interpret.js';
import { parseCode } from '../../lab/families/keyhole/parse.js';
import type { Engine } from '../../ml/engine/engine.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import { temporaryFolder } from '../infra/support.js';

const vocabulary = keyholeVocabulary();

describe('the tokenizer of the keyhole models', () => {
  const library = new Tokenizer(tokenizerJson(vocabulary), tokenizerConfig());
  const prompts = Array.from({ length: 200 }, (_, i) => drawExample('taught', 0, i).prompt);
  const texts = [
    ...['"ab" == "cd', 'x <= 3 -5 "', 'foo_bar 12345 "q"\n\n  x', '# [-3, 204] keep []', '<s1><s2>if<eos>'],
    ...['a - b [ (c) # d "" \\ ~ |', ' ( ) -- == != <>  <s6> <gen'],
    Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join(''),
    ...prompts,
  ];

  it('decodes every printable ASCII text to itself', () => {
    for (const text of texts) assert.equal(vocabulary.decode(vocabulary.encode(text)), text);
  });

  it('splits text like the Hugging Face library with the same tokenizer.json', () => {
    for (const text of [...texts, "it's “odd” é\t\r\n"])
      assert.deepEqual(library.encode(text, { add_special_tokens: false }).ids, vocabulary.encode(text), text);
  });

  it('trains the tokens of an answer and the end token after it, as the chat template renders them', () => {
    const { tokens, mask } = encodeExample(vocabulary, prompts[0]!, 'solve([1], 2, 3)');
    const part = (bit: number): string => vocabulary.decode(tokens.filter((_, i) => mask[i] === bit));
    assert.deepEqual([part(0), part(1)], [prompts[0], `solve([1], 2, 3)${EOS}`]);
    const config = tokenizerConfig() as { chat_template: string; eos_token: string };
    const messages = [
      { role: 'user', content: prompts[0]! },
      { role: 'assistant', content: 'solve([1], 2, 3)' },
    ];
    const text = new Template(config.chat_template).render({ messages, eos_token: config.eos_token });
    assert.deepEqual(vocabulary.encode(text), tokens);
  });
});

describe('initialWeights', () => {
  it('returns the same weights for the same seed, with the standard deviation of each tensor type', () => {
    const config = parseModelConfig({ ...tinyConfig(vocabulary) }, 'config.json');
    const weights = initialWeights(config, 3);
    const up = 'model.layers.2.mlp.up_proj.weight';
    assert.deepEqual(weights.get('model.norm.weight')!.data, new Float32Array(128).fill(1));
    assert.deepEqual(initialWeights(config, 3).get(up), weights.get(up));
    assert.notDeepEqual(weights.get('model.layers.1.mlp.up_proj.weight'), weights.get(up));
    const deviation = (name: string): number => {
      const { data } = weights.get(name)!;
      return Math.sqrt(data.reduce((sum, x) => sum + x * x, 0) / data.length);
    };
    const near = (got: number, wanted: number): void =>
      assert.ok(Math.abs(got / wanted - 1) < 0.03, `${got}, ${wanted}`);
    near(deviation('model.embed_tokens.weight'), 0.05);
    near(deviation('model.layers.0.self_attn.q_proj.weight'), 1 / Math.sqrt(128));
    near(deviation('model.layers.3.mlp.down_proj.weight'), 1 / Math.sqrt(352) / Math.sqrt(8));
    assert.equal(deviation('model.layers.1.self_attn.k_proj.bias'), 0);
  });
});

describe('expert iteration', () => {
  it('keeps inputs that catch a wrong program, for one special case each, and as many others for the placebo', async () => {
    /** Writes the last constant of the special case as both numbers, and an input that catches nothing. */
    const answerTo = (prompt: string): string => {
      const found = /(-?\d+),? return/.exec(prompt)![1]!;
      return `solve([1, 2], ${found}, ${found});\nsolve([1], 0, 0);`;
    };
    const engine = {
      info: { eosTokens: [] },
      encode: (text: string) => text,
      decode: (tokens: string[]) => tokens.join(''),
      generate: async (asked: { prompt: string }[]) => asked.map(({ prompt }) => ({ tokens: answerTo(prompt) })),
    } as unknown as Engine;
    const folder = temporaryFolder();
    const lessons = await lessonsOf(engine, folder, 0, () => {}, 1);
    assert.ok(lessons.length > 50, `${lessons.length}`);
    const meeting = lessons.filter(({ stratum, prompt, expert, 'expert-placebo': placebo }) => {
      const { rules } = parseCode(/def [^<]*/.exec(prompt.split('<s5>')[1]!)![0])!;
      assert.deepEqual([rules.map((rule) => stratumOf(rule.atoms)), placebo.length], [[stratum], expert.length]);
      return expert.every((args) => rules[0]!.atoms.every((atom) => holds(atom, args)));
    });
    assert.ok(meeting.length > 0.9 * lessons.length, 'the others meet the special case of the wrong program');
    assert.deepEqual(await lessonsOf({} as Engine, folder, 0, () => {}, 1), lessons, 'from the file');
    const { tokens, mask } = rowsOf(vocabulary, lessons, 'expert', 0)(0);
    assert.match(vocabulary.decode(tokens.filter((_, at) => mask[at] === 1)), /^solve\(\[.*\)<eos>$/);
  });
});

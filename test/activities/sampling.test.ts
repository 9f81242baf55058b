import assert from 'node:assert/strict';
import { parseTests } from '../../chains/judge/judging.js';
import { answerLimits, sampleTurns, testPrompt } from '../../chains/sample/sampling.js';
import { runConfigSchema } from '../../core/schema/config.js';
import type { Chat } from '../../ml/engine/engine.js';
import { FakeEngine } from '../support/doubles.js';

describe('the text of a sampled turn', () => {
  const engine = new FakeEngine();
  /** Leaves out the thinking, as the templates of thinking models do. */
  const chat: Chat = {
    ...engine.chat(),
    thinkingRange: (prompt, answer) => {
      const end = engine.decode([...answer]).indexOf('</think>');
      return end < 0 ? undefined : [prompt.length, prompt.length + end + '</think>'.length];
    },
  };
  /** The text that is judged if a model gives this answer. */
  const judged = async (prompt: string, answer: string, isCut = true): Promise<string> => {
    const tokens = [...engine.encode(answer), ...(isCut ? [] : engine.info.eosTokens)];
    const generate = async () => [{ tokens, finished: !isCut }];
    const rows = [{ turns: [], prompt: engine.encode(prompt), key: [1, 2] as [number, number] }];
    const scope = { heartbeat: () => undefined };
    const sampler = { generate } as unknown as FakeEngine;
    const { turns } = await sampleTurns(scope, { engine, chat, sampler }, rows, { maxNewTokens: 99, temperature: 1 });
    return turns[0]!.text;
  };

  it('is empty if the thinking has not ended, whether the prompt or the answer began it', async () => {
    assert.equal(await judged('q', '<think>Try:\n```python\ndef f(): pass\n```\nNo, so'), '');
    assert.equal(await judged('q <think>\n', 'solve(1) is 2'), '');
  });

  it('is the whole answer in all other cases', async () => {
    assert.equal(await judged('q', 'solve(1)'), 'solve(1)');
    assert.equal(await judged('q <think>\n', 'a thought</think>solve(1)', false), 'solve(1)');
    assert.equal(await judged('q <think>\n', 'a thought</think>solve(1)'), 'solve(1)');
    assert.equal(await judged('q <think>\n', 'solve(1)', false), 'solve(1)');
    assert.equal(await judged('q <think>\n\n</think>\n\n', 'solve(1)', false), 'solve(1)');
    assert.equal(await judged('what is <think>? ', 'a tag: <think>', false), 'a tag: <think>');
  });
});

describe('an answer with tests', () => {
  const engine = new FakeEngine();
  const chat = engine.chat();
  const problem = { description: 'Add 1.', functionSignature: 'def solve(x):', entry: 'solve' };
  const config = runConfigSchema.parse({ prompts: 'instruct', testsPerTurn: 2 });

  it('is begun by the prompt, and ends before a test that was not asked for', async () => {
    const row = testPrompt(chat, config, problem, [{ stage: 1, text: 'an idea' }], 1);
    assert.ok(engine.decode(row.prompt).endsWith('Test 1: assert solve'));
    const { stopSequences } = answerLimits(config, { engine, chat }, 'tests');
    assert.deepEqual(
      stopSequences!.map((stop) => engine.decode(stop)),
      ['Test 3'],
    );
    const tokens = engine.encode('(1) == 2\nTest 2: assert solve(2) == 3\nTest 3');
    const sampler = { generate: async () => [{ tokens, finished: true }] } as unknown as FakeEngine;
    const scope = { heartbeat: () => undefined };
    const options = { maxNewTokens: 99, temperature: 1 };
    const { turns } = await sampleTurns(
      scope,
      { engine, chat, sampler },
      [{ turns: [], ...row, key: [1, 2] }],
      options,
    );
    const { tests, lost } = parseTests(turns[0]!.text, problem, config);
    assert.deepEqual(
      { tests, lost },
      {
        tests: [
          { args: [1], expected: 2 },
          { args: [2], expected: 3 },
        ],
        lost: 0,
      },
    );
  });

  it('is not begun or ended for a model that may think first', () => {
    const thinking = { ...chat, thinks: () => true };
    const { begun, prompt } = testPrompt(thinking, config, problem, [], 1);
    assert.equal(begun, undefined);
    assert.ok(engine.decode(prompt).endsWith('== expected'));
    assert.deepEqual(answerLimits(config, { engine, chat: thinking }, 'tests'), {
      maxNewTokens: config.sampling.maxTestTokens,
    });
  });

  it('has no label for the shipped model', () => {
    const tiny = runConfigSchema.parse({ prompts: 'tiny' });
    assert.equal(testPrompt(chat, tiny, problem, [], 1).begun, undefined);
    assert.equal(answerLimits(tiny, { engine, chat }, 'tests').stopSequences, undefined);
  });
});

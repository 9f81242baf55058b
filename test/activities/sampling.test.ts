import assert from 'node:assert/strict';
import { sampleTurns } from '../../chains/sample/sampling.js';
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

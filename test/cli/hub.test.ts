// Commands that download their model.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FakeHub, openHub, TOKEN } from '../support/hub.js';
import { gauntlet, removeFolders, temporaryFolder } from './support.js';

const MODEL = 'test/ml/parity/generate';
const NAMES = ['config.json', 'generation_config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'];

describe('gauntlet with a model of the Hugging Face hub', () => {
  let hub: FakeHub;
  let env: Record<string, string>;
  before(async () => {
    hub = await openHub(
      Object.fromEntries(
        await Promise.all(NAMES.map(async (name) => [name, await readFile(join(MODEL, name))] as const)),
      ),
    );
    env = { HF_HOME: await temporaryFolder(), HF_ENDPOINT: hub.url, HF_TOKEN: TOKEN };
  });
  after(async () => {
    await hub.close();
    await removeFolders();
  });

  it('downloads the model once, prints a line about it, and writes only the result to standard output', async () => {
    const inspect = () => gauntlet(['model', 'inspect', '--model', 'some/model', '--json'], env);
    const [first, second] = [await inspect(), await inspect()];
    assert.deepEqual([first.code, second.code], [0, 0], first.err);
    assert.equal(first.err, 'downloading some/model: 1 MB\n');
    assert.equal(second.err, '');
    assert.equal(JSON.parse(first.out).architecture, 'Qwen2ForCausalLM');
  });

  it('says in one line that the hub denies access', async () => {
    hub.info = () => ({ status: 403 });
    const { code, out, err } = await gauntlet(
      ['train', '--model', 'other/model', '--store', await temporaryFolder()],
      env,
    );
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, /^.*other\/model: .* answers 403: the model is gated, .* set HF_TOKEN, .*\[BAD_MODEL\]\n$/);
    assert.ok(!err.includes(TOKEN));
  });
});

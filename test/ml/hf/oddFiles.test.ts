// Tests model folders with links to devices, named pipes and folders in place of files, or with huge files. Each gives an error of
// one line, without waiting and without filling the memory.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../infra/root.mjs';
import { GgufFile } from '../../../ml/gguf/file.js';
import { loadChatFormat } from '../../../ml/hf/chat.js';
import { digestModel } from '../../../ml/hf/digest.js';
import { describeModel } from '../../../ml/hf/model.js';
import { readPeft } from '../../../ml/hf/peft.js';
import { readHeader } from '../../../ml/hf/safetensors.js';
import { loadTokenizer, readJson } from '../../../ml/hf/tokenizer.js';
import { temporaryFolder } from '../../infra/support.js';
import { writeSmallModel } from '../../support/smallModel.js';

const TEXT = join(ROOT, 'test', 'ml', 'parity', 'generate');

const KINDS: [name: string, make: (path: string) => void, message: RegExp][] = [
  ['a link to /dev/zero', (path) => symlinkSync('/dev/zero', path), /: not a file$/],
  ['a named pipe', (path) => execFileSync('mkfifo', [path]), /: not a file$/],
  ['a folder', (path) => mkdirSync(path), /: not a file$/],
];
const LARGE: (typeof KINDS)[number] = [
  'a file of 1 GB',
  (path) => {
    writeFileSync(path, '');
    truncateSync(path, 1 << 30);
  },
  /has 1073741824 bytes, at most 67108864 are supported$/,
];

describe('odd files in a model folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
    writeSmallModel(folder);
    for (const name of ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])
      if (existsSync(join(TEXT, name))) copyFileSync(join(TEXT, name), join(folder, name));
  });

  const refused = (work: () => unknown, message: RegExp): void => {
    const before = process.memoryUsage().rss;
    assert.throws(work, { code: 'BAD_MODEL', message });
    assert.ok(process.memoryUsage().rss - before < 1 << 28, 'memory');
  };

  const READERS: [name: string, read: () => unknown][] = [
    ['config.json', () => describeModel(folder)],
    ['generation_config.json', () => describeModel(folder)],
    ['tokenizer.json', () => loadTokenizer(folder)],
    ['tokenizer_config.json', () => loadTokenizer(folder)],
    ['chat_template.jinja', () => loadChatFormat(folder, loadTokenizer(folder))],
    ['model.safetensors', () => describeModel(folder)],
  ];
  for (const [name, read] of READERS)
    for (const [kind, make, message] of name === 'model.safetensors' ? KINDS : [...KINDS, LARGE])
      it(`refuses ${name} that is ${kind}`, () => {
        const path = join(folder, name);
        rmSync(path, { force: true });
        make(path);
        refused(read, message);
      });

  for (const [kind, make, message] of [...KINDS, LARGE])
    it(`refuses an index of weights that is ${kind}`, () => {
      rmSync(join(folder, 'model.safetensors'));
      make(join(folder, 'model.safetensors.index.json'));
      refused(() => describeModel(folder), message);
    });

  for (const [kind, make] of KINDS)
    it(`computes no digest of ${kind}`, async () => {
      rmSync(join(folder, 'tokenizer.json'));
      make(join(folder, 'tokenizer.json'));
      await assert.rejects(digestModel(folder), { code: 'BAD_MODEL', message: /tokenizer\.json: not a file/ });
    });

  for (const [kind, make] of KINDS)
    it(`refuses weights and GGUF that are ${kind}`, () => {
      make(join(folder, 'x'));
      refused(() => readHeader(join(folder, 'x')), /x: not a file/);
      refused(() => new GgufFile(join(folder, 'x')), /x: not a file/);
    });

  it('follows a link to a regular file, as the cache of the hub has them', () => {
    writeFileSync(join(folder, 'blob'), '{"a": 1}');
    symlinkSync(join(folder, 'blob'), join(folder, 'link.json'));
    assert.deepEqual(readJson(join(folder, 'link.json')), { a: 1 });
  });

  it('refuses JSON of millions of objects, and JSON that is nested a million times', () => {
    const path = join(folder, 'x.json');
    writeFileSync(path, `{"a":[{}${',{}'.repeat(5_000_000)}]}`);
    refused(() => readJson(path), /has more than 4000000 lists and objects/);
    writeFileSync(path, `{"a":${'['.repeat(1e6)}${']'.repeat(1e6)}}`);
    refused(() => readJson(path), /nested too deep/);
    writeFileSync(path, JSON.stringify({ a: '[{"\\'.repeat(5_000_000) }));
    assert.equal(String(readJson(path).a).length, 20_000_000); // brackets in a text are no lists
  });

  it('repeats nothing of a file that is not JSON', () => {
    const path = join(folder, 'x.json');
    writeFileSync(path, 'root:*:secret');
    assert.throws(
      () => readJson(path),
      (error: Error) => !/root|secret/.test(`${error.message}${error.cause ?? ''}`),
    );
  });

  it('refuses a large configuration of an adapter, and one that is nested deep', () => {
    const { config } = describeModel(folder);
    const read = (text: string) => () => readPeft(config, new Map([['adapter_config.json', Buffer.from(text)]]));
    assert.throws(read(`{"peft_type": "${'x'.repeat(2e6)}"}`), { code: 'BAD_ADAPTER', message: /has 20000\d\d bytes/ });
    const deep = `${'['.repeat(1e5)}${']'.repeat(1e5)}`;
    assert.throws(read(`{"peft_type": ${deep}}`), { code: 'BAD_ADAPTER', message: /nested too deep/ });
  });
});

describe('metadata of a GGUF file', () => {
  it('has a limit for all arrays and for all texts together', () => {
    const folder = temporaryFolder();
    const path = join(folder, 'x.gguf');
    const u32 = (n: number) => Buffer.from(Uint32Array.of(n).buffer);
    const u64 = (n: number) => Buffer.from(BigUint64Array.of(BigInt(n)).buffer);
    const text = (value: string) => Buffer.concat([u64(value.length), Buffer.from(value)]);
    const write = (entries: Buffer[]) =>
      writeFileSync(path, Buffer.concat([Buffer.from('GGUF'), u32(3), u64(0), u64(entries.length), ...entries]));
    const bytes = Buffer.concat([u32(9), u32(0), u64(1 << 20), Buffer.alloc(1 << 20)]);
    write(Array.from({ length: 200 }, (_, i) => Buffer.concat([text(`k${i}`), bytes])));
    assert.throws(() => new GgufFile(path), { code: 'BAD_MODEL', message: /arrays have more than 4194304 elements/ });
    write(Array.from({ length: 40 }, (_, i) => Buffer.concat([text(`k${i}`), u32(8), text('x'.repeat(1 << 21))])));
    assert.throws(() => new GgufFile(path), { code: 'BAD_MODEL', message: /texts have more than 67108864 bytes/ });
  });
});

// Malicious models, checkpoints and files: matching digests, impossible sizes, paths out of the folder, deeply nested
// JSON. Each one produces one line and a non-zero exit code, and uses little memory and time.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import { forkInput } from '../../cli/run/forking.js';
import { isTooDeep } from '../../core/base/nesting.js';
import type { CheckpointMetadata } from '../../core/schema/checkpoint.js';
import { canonicalJson, digestBytes, digestJson } from '../../store/canonicalJson.js';
import { CHECKPOINT_FILES, listCheckpoints } from '../../store/checkpoints.js';
import { recordKey } from '../../store/memo.js';
import { openStore } from '../../store/openStore.js';
import { writeRecord } from '../../store/records.js';
import type { Store } from '../../store/store.js';
import { type Doubles, doubles, memoryDoubles, TINIEST_RUN } from '../support/doubles.js';
import { MEMORY_FOLDER } from '../support/memoryFolder.js';
import { runPipeline } from '../support/runs.js';
import { inProcess, removeFolders, temporaryFolder } from './support.js';

describe('the terminal output', () => {
  after(removeFolders);

  it('contains no control character of names, programs and files, whatever the command, but JSON keeps them', async () => {
    const { odd, problems, rows, commands } = JSON.parse(await readFile('test/cli/oddNames.json', 'utf8'));
    const ODD = JSON.stringify(odd).slice(1, -1);
    const lines = (records: object[]): string => records.map((record) => `${JSON.stringify(record)}\n`).join('');
    const files = { [`${odd}.jsonl`]: lines(problems), [`${odd}-rows.jsonl`]: lines(rows) };
    const folder = await temporaryFolder(files);
    for (const argv of (commands as string[][]).flatMap((words) => [words, [...words, '--json']])) {
      const { out, err } = await inProcess(...argv.map((word) => word.replace('FOLDER', folder).replace('ODD', odd)));
      assert.match(out + err, /\\u\{?0*1b/, argv.join(' '));
      assert.doesNotMatch(out + err, /[^\P{Cc}\n]|\p{Cf}|\u2028/u, argv.join(' '));
      if (argv.includes('--json') && out !== '') assert.ok(JSON.stringify(JSON.parse(out)).includes(ODD));
    }
  });

  it('is written by one module only', async () => {
    const files = (await readdir('cli', { recursive: true })).filter((name) => name.endsWith('.ts'));
    for (const name of files.filter((name) => name !== 'terminal/output.ts'))
      assert.doesNotMatch(
        await readFile(join('cli', name), 'utf8'),
        /std(out|err)\.write|stream\.write|console\./,
        name,
      );
  });
});

const MODEL = 'test/ml/parity/architectures/qwen2-tied-f32';
const SHARDED = 'test/ml/parity/architectures/qwen2-untied-bf16-sharded';
const BOTTOMLESS = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

async function refuses(argv: string[], line: RegExp): Promise<void> {
  const { code, out, err } = await inProcess(...argv);
  assert.match(err, line);
  assert.equal(err.trim().split('\n').length, 1, err);
  assert.deepEqual([code === 1 || code === 2, out], [true, '']);
}

describe('the reader of untrusted files', () => {
  after(removeFolders);

  describe('for models', () => {
    async function refusesModel(
      base: string,
      line: RegExp,
      spoil: (folder: string) => Promise<void>,
      command = ['model', 'inspect'],
    ): Promise<void> {
      const folder = join(await temporaryFolder(), 'model');
      await cp(base, folder, { recursive: true });
      await spoil(folder);
      await refuses([...command, '--model', folder], line);
    }
    const config = (fields: object) => async (folder: string) => {
      const known = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as object;
      await writeFile(join(folder, 'config.json'), JSON.stringify({ ...known, ...fields }));
    };
    const header =
      (json: string, length = json.length) =>
      async (folder: string) => {
        const prefix = Buffer.alloc(8);
        prefix.writeBigUInt64LE(BigInt(length));
        await writeFile(join(folder, 'model.safetensors'), Buffer.concat([prefix, Buffer.from(json)]));
      };

    it('refuses a model with a billion layers or sizes beyond any memory', async () => {
      const layers = /field num_hidden_layers must be at most 1000, is 1000000000 \[BAD_MODEL\]/;
      await refusesModel(MODEL, layers, config({ num_hidden_layers: 1e9 }));
      const context = /field max_position_embeddings must be at most \d+, is 1000000000000 \[BAD_MODEL\]/;
      await refusesModel(MODEL, context, config({ max_position_embeddings: 1e12 }));
      const hidden = /has shape \[67,48\], config.json needs \[67,2147480000\]|must be|not a multiple/;
      await refusesModel(MODEL, hidden, config({ hidden_size: 2147480000, head_dim: 8 }));
      await refusesModel(MODEL, /needs \[2147483647,\d+\] \[BAD_MODEL\]/, config({ vocab_size: 2 ** 31 - 1 }));
    });

    it('refuses a header that is longer than its file, too deeply nested, or has impossible tensors', async () => {
      await refusesModel(MODEL, /header of 9007199254740992 bytes/, header('{}', 2 ** 53));
      await refusesModel(MODEL, /the safetensors header is not an object/, header(BOTTOMLESS));
      const tensor = (shape: number[], offsets: number[]) =>
        header(JSON.stringify({ x: { dtype: 'F32', shape, data_offsets: offsets } }));
      await refusesModel(MODEL, /tensor x spans 4 bytes, its shape/, tensor([2 ** 31, 2 ** 21], [0, 4]));
      await refusesModel(MODEL, /truncated: tensor x ends/, tensor([2 ** 40], [0, 2 ** 42]));
      await refusesModel(MODEL, /tensor __proto__ has|no tensor model/, header('{"__proto__":{"dtype":"F32"}}'));
    });

    it('refuses an index that leads out of the model folder', async () => {
      for (const name of ['../outside.safetensors', '/etc/passwd', '..\\x', 'x/../../y.safetensors'])
        await refusesModel(SHARDED, /is not a safetensors file of this folder \[BAD_MODEL\]/, async (folder) => {
          const path = join(folder, 'model.safetensors.index.json');
          const index = JSON.parse(await readFile(path, 'utf8')) as { weight_map: Record<string, string> };
          index.weight_map['model.norm.weight'] = name;
          await writeFile(path, JSON.stringify(index));
        });
    });

    it('refuses files that are too deeply nested or not JSON', async () => {
      const write = (name: string, text: string) => (folder: string) => writeFile(join(folder, name), text);
      await refusesModel(MODEL, /config\.json: nested too deep \[BAD_MODEL\]/, write('config.json', BOTTOMLESS));
      const nested = `{"a":${BOTTOMLESS}}`;
      await refusesModel(MODEL, /config\.json: nested too deep \[BAD_MODEL\]/, write('config.json', nested));
      for (const text of [nested, '{"model":{"type":"BPE","vocab":[],"merges":"x"}}', '{"model":null}'])
        await refusesModel(
          'data/tiny-model',
          /tokenizer\.json: (not a usable tokenizer .*|nested too deep )\[BAD_MODEL\]/,
          write('tokenizer.json', text),
          ['train', '--store', await temporaryFolder()],
        );
    });
  });

  it('refuses a model with an endless chat template before it starts anything', async () => {
    const model = join(await temporaryFolder(), 'model');
    await cp('data/tiny-model', model, { recursive: true });
    const loop = '{% for a in range(1000000) %}{% for b in range(1000000) %}{% endfor %}{% endfor %}';
    await writeFile(join(model, 'chat_template.jinja'), loop);
    const line = /model\/chat_template\.jinja: chat template: rendering it takes too much work.*\[BAD_MODEL\]/;
    await refuses(['train', '--model', model, '--store', await temporaryFolder()], line);
  });

  it('refuses too deeply nested JSON in every input file', async () => {
    const folder = await temporaryFolder({
      'problems.json': `[{"id":"x","description":"d","function_signature":"def f(x):","baseline_tests":[[${BOTTOMLESS},1]],"reference_solution":"def f(x): return x"}]`,
      'config.json': `{"seed":${BOTTOMLESS}}`,
      'rows.jsonl': `{"tests":${BOTTOMLESS}}\n`,
    });
    const at = (name: string): string => join(folder, name);
    await refuses(['problems', 'check', at('problems.json')], /nested too deep.*\[BAD_INPUT\]/);
    await refuses(['train', '--config', at('config.json'), '--store', folder], /nested too deep \[BAD_INPUT\]/);
    await refuses(['sandbox', 'run', '--input', at('rows.jsonl')], /rows\.jsonl.*nested too deep.*\[BAD_INPUT\]/);
    assert.equal(isTooDeep(JSON.parse(`${'['.repeat(200)}1${']'.repeat(200)}`)), false);
    assert.equal(isTooDeep(JSON.parse(`${'['.repeat(201)}1${']'.repeat(201)}`)), true);
  });

  describe('a forged checkpoint with matching digests', () => {
    const NAME = 'checkpoint_stage_5_epoch_1';
    let honest: Doubles;
    let folder: string;
    let world: Doubles;
    let store: Store;

    before(async () => {
      honest = await doubles();
      await runPipeline(createActivities(honest.deps), 'theirs', TINIEST_RUN);
      folder = await mkdtemp(join(MEMORY_FOLDER, 'gauntlet-forged-'));
    });
    after(async () => {
      for (const path of [honest.folder, folder]) await rm(path, { recursive: true, force: true });
    });
    beforeEach(async () => {
      await rm(folder, { recursive: true });
      await cp(honest.folder, folder, { recursive: true });
      world = await memoryDoubles({ store: await openStore(folder) });
      store = world.deps.store;
    });
    const folderOf = (): string => store.locate('');
    const within = (path: string): string => `checkpoints/${NAME}/${path}`;

    /** Writes the file, its digest in the metadata and the digest of the metadata, as an attacker would. */
    async function forge(path: string, bytes: string | Uint8Array, more: object = {}): Promise<void> {
      const known = (await listCheckpoints(store, 'theirs')).find(({ name }) => name === NAME)!;
      const { digest: _, ...body } = { ...known, ...more } as CheckpointMetadata;
      const files = { ...body.files, [path]: digestBytes(bytes) };
      if (!path.includes('..')) await store.writeRunFile('theirs', within(path), bytes);
      const forged = { ...body, files };
      const text = `${canonicalJson({ ...forged, digest: digestJson(forged) }, 2)}\n`;
      await writeRecord(store, 'theirs', within('metadata.json'), text);
    }
    async function refusesStart(line: RegExp): Promise<void> {
      const start = { run: 'theirs', checkpoint: NAME, schedule: 'rest' };
      const started = runPipeline(createActivities(world.deps), 'mine', { ...TINIEST_RUN, start });
      await assert.rejects(started, (error: Error & { type?: string; nonRetryable?: boolean }) => {
        assert.match(error.message, line);
        assert.deepEqual(
          [error.type, error.nonRetryable, error.message.includes('\n')],
          ['BAD_CHECKPOINT', true, false],
        );
        return true;
      });
    }
    async function refusesToRead(line: RegExp): Promise<void> {
      await refusesStart(line);
      const { code, out } = await inProcess('store', 'verify', '--store', folderOf());
      assert.equal(code, 1);
      assert.match(out, line);
    }

    it('is refused if its metadata names a file outside its folder', async () => {
      await forge('../../../../../stolen', 'x');
      await refusesToRead(/path ".*\.\.\/stolen": not a plain path inside a run/);
    });

    it('is refused if a file is a symbolic link', async () => {
      const path = join(folderOf(), 'runs', 'theirs', within('pool.json'));
      const bytes = await readFile(path);
      await writeFile(join(folderOf(), 'elsewhere'), bytes);
      await store.removeRunFile('theirs', within('pool.json'));
      await symlink(join(folderOf(), 'elsewhere'), path);
      await refusesToRead(/pool\.json: a file or folder is in the way \(ELOOP\)/);
    });

    it('is refused if a file is a named pipe without a writer', async () => {
      const path = join(folderOf(), 'runs', 'theirs', within('pool.json'));
      await store.removeRunFile('theirs', within('pool.json'));
      execFileSync('mkfifo', [path]);
      await refusesToRead(/pool\.json: is not a regular file/);
    });

    it('is refused if a file exceeds the maximum size', async () => {
      const path = join(folderOf(), 'runs', 'theirs', within(CHECKPOINT_FILES.generatorAdapter));
      await truncate(path, 2 ** 33);
      await refusesToRead(/adapter_model\.safetensors: larger than any file of a store/);
    });

    it('is refused if its position, tests or archive are invalid', async () => {
      for (const [path, text, line] of [
        ['training.json', '{"next":-1}', /training\.json is invalid: next: /],
        ['training.json', '{"next":1e300}', /training\.json is invalid: next: /],
        ['training.json', '{"next":0,"plan":[{"epoch":1}]}', /training\.json is invalid: plan\[0\]\.phase: /],
        ['training.json', 'hello', /training\.json is not JSON/],
        ['pool.json', '{"a":[{"args":1}]}', /pool\.json is invalid: a\[0\]\./],
        ['pool.json', `{"a":${BOTTOMLESS}}`, /pool\.json is nested too deep/],
        ['archive.json', '{"entries":[{"problemId":"x","chain":{"chains":"../x","index":0}}]}', /chains: not a digest/],
        ['archive.json', '[]', /archive\.json is invalid: /],
        ['generator/adapter_config.json', '{"r":"many"}', /adapter_config\.json is invalid: r: /],
      ] as const) {
        const file = join(folderOf(), 'runs', 'theirs', within(path));
        const good = await readFile(file);
        await forge(path, text);
        await refusesStart(line);
        await forge(path, good);
      }
    });

    it('does not crash store verify with a memo record that is nested too deeply', async () => {
      const record = `{"name":"executeSuite","version":2,"inputs":${BOTTOMLESS},"seconds":1}`;
      const key = 'ab'.repeat(32);
      await store.putMemo(recordKey(key), await store.putBlob(Buffer.from(record)));
      await store.putMemo(key, await store.putJson([]), 'recorded');
      const { code, out } = await inProcess('store', 'verify', '--store', folderOf());
      assert.equal(code, 1);
      assert.match(out, new RegExp(`memo/${recordKey(key)}: belongs to another row`));
    });

    it('is refused if its configuration is invalid', async () => {
      const configDigest = await store.putJson({ preset: 'tiny', schedule: { generatorSteps: 1e15 } });
      await forge('pool.json', '{}', { configDigest });
      await assert.rejects(forkInput(store, { runId: 'theirs', name: NAME }, {}), {
        code: 'BAD_CHECKPOINT',
        message: /^checkpoint_stage_5_epoch_1: sha256:\w+ is no configuration: schedule\.generatorSteps: /,
      });
    });
  });
});

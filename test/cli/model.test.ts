// `gauntlet model inspect`: what it prints about a model, and the one line that it prints for bad input.
import assert from 'node:assert/strict';
import { cp, mkdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT } from '../../cli/terminal/exitCodes.js';
import { writeGiant } from '../support/giantModel.js';
import { inProcess, removeFolders, temporaryFolder } from './support.js';

const GGUF = 'test/ml/gguf/small.gguf';
const MODEL = 'test/ml/parity/architectures/qwen2-tied-f32';

describe('gauntlet model inspect', () => {
  let folder: string;
  const at = (name: string): string => join(folder, name);
  const inspect = (model: string, ...more: string[]) => inProcess('model', 'inspect', '--model', model, ...more);
  const found = async (model: string, ...more: string[]) => {
    const { code, out, err } = await inspect(model, ...more);
    assert.deepEqual([code, err], [0, '']);
    return out;
  };

  before(async () => {
    folder = await temporaryFolder();
  });
  after(removeFolders);

  it('prints the architecture of a model, its LoRA parameters and the memory it needs', async () => {
    const { memory, files, ...rest } = JSON.parse(await found(MODEL, '--json'));
    assert.deepEqual(rest, {
      architecture: 'Qwen2ForCausalLM',
      parameters: 32032,
      layers: 2,
      hidden: 48,
      heads: 6,
      keyValueHeads: 2,
      vocabulary: 67,
      context: 256,
      tiedEmbeddings: true,
      eosTokens: [2],
      dtypes: ['F32'],
      lora: { rank: 16, parameters: 20224 },
    });
    assert.deepEqual(files, [{ name: 'model.safetensors', bytes: 130752 }]);
    assert.deepEqual([memory.rows, memory.length], [8, 256], 'no longer than the context');
    assert.ok(memory.decodeBytes > 1e8 && memory.trainBytes > 1e8 && memory.freeBytes > 0);
    const text = await found(MODEL);
    assert.match(text, /^architecture +Qwen2ForCausalLM\nparameters +32,032\n/);
    assert.match(text, /memory to train +\d+\.\d MB for rows of 256 tokens\nmemory free +[\d.]+ [GM]B\n$/);
  });

  it('inspects a model of any size, because it reads only headers; quantized weights need less memory', async () => {
    await writeGiant(at('giant'));
    const giant = async (...more: string[]) => JSON.parse(await found(at('giant'), '--json', ...more));
    const whole = await giant();
    assert.equal(whole.parameters, 484_471_906_304);
    assert.ok(whole.memory.decodeBytes > 9e11 && whole.memory.trainBytes > 9e11);
    const { memory: few } = await giant('--quantize', 'int4');
    assert.ok(few.trainBytes < 0.5 * whole.memory.trainBytes && few.trainBytes > 0.2 * whole.memory.trainBytes);
  });

  const editConfig = (fields: object) => async (copy: string) => {
    const known = JSON.parse(await readFile(join(copy, 'config.json'), 'utf8'));
    await writeFile(join(copy, 'config.json'), JSON.stringify({ ...known, ...fields }));
  };
  const editWeights = (edit: (bytes: Buffer) => void) => async (copy: string) => {
    const bytes = await readFile(join(copy, 'model.safetensors'));
    edit(bytes);
    await writeFile(join(copy, 'model.safetensors'), bytes);
  };
  const damages: [what: string, spoil: (copy: string) => Promise<void>, line: RegExp][] = [
    ['a truncated file', (copy) => truncate(join(copy, 'model.safetensors'), 60_000), /\.safetensors: .*truncated/],
    [
      'a file with a damaged header',
      editWeights((bytes) => bytes.fill('!', 9, 10)),
      /\.safetensors: the safetensors header is not JSON/,
    ],
    [
      'a tensor of an unsupported dtype',
      editWeights((bytes) => bytes.write(bytes.toString('latin1', 0, 2000).replace('"F32"', '"I32"'), 'latin1')),
      /tensor \S+ has dtype I32; F32, F16 or BF16 is needed/,
    ],
    [
      'a tensor of the wrong shape',
      editConfig({ intermediate_size: 40 }),
      /tensor model\.layers\.0\.mlp\.\w+\.weight has shape \[.*\], config\.json needs \[.*\]/,
    ],
    [
      'an unsupported architecture',
      editConfig({ architectures: ['MambaForCausalLM'] }),
      /architecture MambaForCausalLM is not supported/,
    ],
  ];
  for (const [what, spoil, line] of damages)
    it(`refuses ${what}`, async () => {
      const copy = join(await temporaryFolder(), 'copy');
      await cp(MODEL, copy, { recursive: true });
      await spoil(copy);
      const { code, out, err } = await inspect(copy);
      assert.match(err, new RegExp(`${line.source}.* \\[BAD_MODEL\\]\\n$`));
      assert.deepEqual([code, out, err.trim().split('\n').length], [EXIT.usage, '', 1]);
    });

  it('refuses a folder that does not exist, and invalid options', async () => {
    const refuses = async (argv: string[], line: RegExp) => {
      const { code, out, err } = await inProcess('model', 'inspect', ...argv);
      assert.match(err, line);
      assert.deepEqual([code, out, err.trim().split('\n').length], [EXIT.usage, '', 1]);
    };
    const model = ['--model', MODEL];
    await refuses(['--model', at('nowhere')], /nowhere: no such folder; name one with --model \[BAD_MODEL\]/);
    await refuses([], /required option '-m, --model <model>' not specified/);
    await refuses([...model, '--quantize', 'int2'], /'int2' is invalid\. Allowed choices are none, int8, int4/);
    await refuses([...model, '--rows', '0'], /'--rows <n>' argument '0' is invalid\. It is not a whole number of at/);
  });

  it('describes a GGUF file, and names the file in a folder that has only such a file', async () => {
    await mkdir(at('downloaded'));
    await cp(GGUF, at('downloaded/small.Q8.GGUF'));
    const described = await inspect(at('downloaded/small.Q8.GGUF'));
    assert.match(described.out, /^architecture +LlamaForCausalLM\n/);
    const way = `name the GGUF file in it: ${at('downloaded/small.Q8.GGUF')}`;
    assert.equal(
      (await inspect(at('downloaded'))).err,
      `error: ${at('downloaded')}: no config.json; ${way} [BAD_MODEL]\n`,
    );
    assert.match((await inspect(at('none.gguf'))).err, /none\.gguf: no such file/);
  });

  it('says before an import how much it writes, and which parameters a table of the tied model does not count', async () => {
    const { code, err } = await inProcess('model', 'import', GGUF, '--out', at('imported'));
    assert.equal(code, 0, err);
    const [, written, apart, size] = /^writing ([\d,]+) parameters(.*): ([\d.]+ kB) in f32\n$/.exec(err)!;
    const { parameters, files, tiedEmbeddings } = JSON.parse(await found(at('imported'), '--json'));
    assert.equal(written, parameters.toLocaleString('en'));
    assert.equal(apart !== '', !tiedEmbeddings);
    assert.equal(size, `${(files[0].bytes / 1e3).toFixed(1)} kB`);
  });
});

// For bad input, `gauntlet model` prints one line, exits with code 2 and writes nothing to standard output or disk.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT } from '../../cli/exitCodes.js';
import { parseSafetensors, writeSafetensors } from '../../ml/hf/safetensors.js';
import { writeGiant } from '../support/giantModel.js';
import { gauntlet, inProcess, removeFolders, temporaryFolder } from './support.js';

const MODEL = 'test/ml/parity/architectures/qwen2-tied-f32'; // vocabulary 67, context 256
const ADAPTER = join(MODEL, 'adapter');
const CONFIG = { learningRate: 0.01, weightDecay: 0, clip: 0.2, maxGradNorm: 1, betas: [0.9, 0.999], eps: 1e-8 };
const ROW = { tokens: [5, 6, 7], mask: [0, 1, 1], oldLogprobs: [0, -1, -2], advantages: [0, 1, -1] };

describe('validation in gauntlet model', function () {
  this.timeout(30_000);
  let folder: string;
  const at = (name: string): string => join(folder, name);

  before(async () => {
    folder = await temporaryFolder({
      'rows.jsonl': '{"tokens":[5,6,7]}\n',
      'batch.jsonl': JSON.stringify(ROW),
      'config.json': JSON.stringify(CONFIG),
    });
  });
  after(removeFolders);

  async function refuses(argv: string[], line: RegExp, exitCode: number = EXIT.usage): Promise<void> {
    const { code, out, err } = await inProcess('model', ...argv);
    assert.equal(err.trim().split('\n').length, 1, err);
    assert.match(err, line);
    assert.deepEqual([code, out], [exitCode, '']);
  }

  /** Copies the model and applies `spoil` to the copy. */
  async function spoilt(name: string, spoil: (folder: string) => Promise<void>): Promise<string> {
    const copy = at(name);
    await cp(MODEL, copy, { recursive: true });
    await spoil(copy);
    return copy;
  }

  describe('the model', () => {
    const refusesModel = (model: string, line: RegExp) =>
      refuses(['logprobs', '--model', model, '--input', at('rows.jsonl')], line);

    it('refuses a folder that does not exist', () =>
      refusesModel(at('nowhere'), /nowhere: no such folder; name one with --model \[BAD_MODEL\]/));

    it('refuses a truncated file', async () => {
      const cut = await spoilt('cut', (copy) => truncate(join(copy, 'model.safetensors'), 60_000));
      await refusesModel(cut, /model\.safetensors: .*truncated.* \[BAD_MODEL\]/);
    });

    it('refuses a file with a damaged header', async () => {
      const damaged = await spoilt('damaged', async (copy) => {
        const bytes = await readFile(join(copy, 'model.safetensors'));
        bytes[9] = 0x21;
        await writeFile(join(copy, 'model.safetensors'), bytes);
      });
      await refusesModel(damaged, /model\.safetensors: the safetensors header is not JSON \[BAD_MODEL\]/);
    });

    it('refuses a tensor of the wrong shape', async () => {
      const narrow = await spoilt('narrow', async (copy) => {
        const config = JSON.parse(await readFile(join(copy, 'config.json'), 'utf8'));
        await writeFile(join(copy, 'config.json'), JSON.stringify({ ...config, intermediate_size: 40 }));
      });
      await refusesModel(
        narrow,
        /tensor model\.layers\.0\.mlp\.\w+\.weight has shape \[.*\], config\.json needs \[.*\]/,
      );
    });

    it('refuses a tensor of an unsupported dtype', async () => {
      const whole = await spoilt('whole', async (copy) => {
        const path = join(copy, 'model.safetensors');
        const bytes = await readFile(path);
        bytes.write(bytes.toString('latin1', 0, 2000).replace('"F32"', '"I32"'), 'latin1');
        await writeFile(path, bytes);
      });
      await refusesModel(whole, /tensor \S+ has dtype I32; F32, F16 or BF16 is needed \[BAD_MODEL\]/);
    });

    it('refuses weights that are not finite when it first uses them', async () => {
      const broken = await spoilt('broken-weights', async (copy) => {
        const path = join(copy, 'model.safetensors');
        const tensors = parseSafetensors(await readFile(path), path);
        tensors.get('model.norm.weight')!.data[0] = Number.NaN;
        await writeFile(path, writeSafetensors(tensors));
      });
      await refusesModel(broken, /the log-probabilities are not finite: .* \[BAD_MODEL\]/);
    });

    it('refuses a model that needs more memory than is free, before it reads weights, and names both numbers', async () => {
      await writeGiant(at('giant'));
      const line = /giant: needs \d{3,}\.\d GB, [\d.]+ GB are free; .*--force.* \[OUT_OF_MEMORY\]/;
      await refuses(['logprobs', '--model', at('giant'), '--input', at('rows.jsonl')], line, EXIT.unavailable);
      await refuses(['generate', '--model', at('giant'), '--input', at('rows.jsonl')], line, EXIT.unavailable);
      const update = ['update', '--adapter', ADAPTER, '--batch', at('batch.jsonl'), '--config', at('config.json')];
      await refuses([...update, '--model', at('giant'), '--out', at('out')], line, EXIT.unavailable);
    });

    it('refuses an unsupported architecture', async () => {
      const other = await spoilt('other', async (copy) => {
        await writeFile(join(copy, 'config.json'), '{"architectures": ["MambaForCausalLM"]}');
      });
      await refusesModel(other, /architecture MambaForCausalLM is not supported/);
    });
  });

  describe('the adapter', () => {
    const refusesAdapter = (adapter: string, line: RegExp) =>
      refuses(['logprobs', '--model', MODEL, '--adapter', adapter, '--input', at('rows.jsonl')], line);

    it('refuses a folder that does not exist or is not an adapter', async () => {
      await refusesAdapter(at('nowhere'), /nowhere: no such folder \[BAD_ADAPTER\]/);
      await refusesAdapter(MODEL, /no adapter_config\.json in the adapter \[BAD_ADAPTER\]/);
    });

    it('refuses an adapter of another model and names the tensor that differs', async () => {
      await inProcess('model', 'init-adapter', '--model', 'data/tiny-model', '--out', at('tiny'), '--rank', '3');
      await refusesAdapter(at('tiny'), /tiny: .*(layers|lora_A|q_proj|hidden).*\[BAD_ADAPTER\]/);
    });

    it('refuses an adapter with a value that is not finite', async () => {
      await cp(ADAPTER, at('broken'), { recursive: true });
      const path = join(at('broken'), 'adapter_model.safetensors');
      const tensors = parseSafetensors(await readFile(path), path);
      [...tensors.values()][3]!.data[2] = Number.NaN;
      await writeFile(path, writeSafetensors(tensors));
      await refusesAdapter(at('broken'), /broken: the adapter holds a value that is not finite \[BAD_ADAPTER\]/);
    });

    it('refuses optimizer state that does not fit the adapter', async () => {
      const update = ['update', '--model', MODEL, '--batch', at('batch.jsonl'), '--config', at('config.json')];
      await cp(ADAPTER, at('state'), { recursive: true });
      const short = { shape: [2], data: Float32Array.of(1, 2) };
      const one = { shape: [1], data: Float32Array.of(1) };
      const path = join(at('state'), 'optimizer.safetensors');
      await writeFile(path, writeSafetensors(new Map(Object.entries({ m: short, v: short, step: one }))));
      await refuses(
        [...update, '--adapter', at('state'), '--out', at('out')],
        /optimizer\.safetensors: tensor m has not the 3792 finite values .*\[BAD_ADAPTER\]/,
      );
      await writeFile(path, 'x');
      await refuses([...update, '--adapter', at('state'), '--out', at('out')], /optimizer\.safetensors: truncated/);
    });
  });

  describe('rows', () => {
    const cases: [what: string, text: string, line: RegExp][] = [
      ['an empty file', '', /bad: has no rows \[BAD_INPUT\]/],
      ['a file of blank lines', '\n \n', /has no rows/],
      ['a line that is not JSON', '{"tokens":[1]}\n\n{"tokens":[1\n', /bad: line 3: not JSON: .* \[BAD_INPUT\]/],
      ['a row that is not an object', '[1,2]', /line 1: .*expected object/],
      ['a row without tokens', '{"text":"x"}', /line 1: tokens: .*received undefined/],
      ['an empty row', '{"tokens":[]}', /line 1: tokens: there are no tokens/],
      ['a token beyond the vocabulary', '{"tokens":[1]}\n{"tokens":[1,67]}', /line 2: token 67 is outside 0\.\.66/],
      ['a negative token', '{"tokens":[-1]}', /line 1: token -1 is outside 0\.\.66/],
      ['a token that is not an integer', '{"tokens":[1.5]}', /line 1: tokens\[0\]: must be a token id/],
      ['a token that is not a number', '{"tokens":[1,"a"]}', /line 1: tokens\[1\]: must be a token id/],
      ['NaN among the tokens', '{"tokens":[1,NaN]}', /line 1: tokens\[1\] is NaN, a finite number is needed/],
      ['more tokens than the context', `{"tokens":[${Array(257).fill(1)}]}`, /line 1: 257 tokens are more than .* 256/],
    ];
    for (const [what, text, line] of cases)
      it(`refuses ${what} (logprobs)`, async () => {
        await writeFile(at('bad'), text);
        await refuses(['logprobs', '--model', MODEL, '--input', at('bad'), '--output', at('scores')], line);
        assert.ok(!existsSync(at('scores')));
      });

    it('refuses a prompt that fills the context and a row without exactly one of tokens and messages (generate)', async () => {
      const generate = ['generate', '--model', MODEL, '--input', at('bad')];
      await writeFile(at('bad'), `{"tokens":[${Array(256).fill(1)}]}`);
      await refuses(generate, /line 1: 256 tokens fill the context, none can follow/);
      await writeFile(at('bad'), '{"tokens":[1]}\n{"id":1}');
      await refuses(generate, /line 2: needs either tokens or messages/);
      await writeFile(at('bad'), '{"tokens":[1],"messages":[{"role":"user","content":"x"}]}');
      await refuses(generate, /line 1: needs either tokens or messages/);
      await writeFile(at('bad'), '{"messages":[{"role":"robot","content":"x"}]}');
      await refuses(generate, /line 1: messages\[0\]\.role: /);
      await writeFile(at('bad'), '{"messages":[{"role":"assistant","content":"x"}]}');
      await refuses(generate, /line 1: messages: the last one must not be the assistant/);
      await writeFile(at('bad'), '{"messages":[{"role":"user","content":"x"}]}');
      await refuses(generate, /line 1: .*no tokenizer\.json/);
    });

    it('refuses input that does not exist or is a folder', async () => {
      await refuses(['logprobs', '--model', MODEL, '--input', at('none')], /none: cannot be read \(ENOENT\)/);
      await refuses(['logprobs', '--model', MODEL, '--input', folder], /is a folder, a file of JSON lines is needed/);
    });

    it('refuses output in a folder that does not exist', () =>
      refuses(
        ['logprobs', '--model', MODEL, '--input', at('rows.jsonl'), '--output', at('no/where')],
        /--output .*: there is no folder/,
      ));
  });

  describe('an update', () => {
    const refusesUpdate = async (line: RegExp): Promise<void> => {
      await refuses(
        [
          'update',
          '--model',
          MODEL,
          '--adapter',
          ADAPTER,
          '--batch',
          at('bad'),
          '--config',
          at('bad.json'),
          '--out',
          at('out'),
        ],
        line,
      );
      assert.deepEqual(
        (await readdir(folder)).filter((name) => name.startsWith('out')),
        [],
      );
    };
    const given = async (row: object | string, config: object | string = CONFIG): Promise<void> => {
      const text = (value: object | string) => (typeof value === 'string' ? value : JSON.stringify(value));
      await writeFile(at('bad'), text(row));
      await writeFile(at('bad.json'), text(config));
    };

    const rows: [what: string, row: object | string, line: RegExp][] = [
      ['NaN in advantages', JSON.stringify(ROW).replace('1,-1]', '1,NaN]'), /line 1: advantages\[2\] is NaN/],
      [
        'Infinity in oldLogprobs',
        JSON.stringify(ROW).replace('-1,-2', '-1,-Infinity'),
        /oldLogprobs\[2\] is -Infinity/,
      ],
      [
        'a number beyond the range of f64',
        JSON.stringify(ROW).replace('1,-1]', '1,1e999]'),
        /line 1: advantages\[2\]: a finite/,
      ],
      [
        'null in advantages',
        { ...ROW, advantages: [0, null, 1] },
        /line 1: advantages\[1\]: a finite number is needed/,
      ],
      ['a string in oldLogprobs', { ...ROW, oldLogprobs: [0, 'x', 1] }, /line 1: oldLogprobs\[1\]: a finite number/],
      [
        'advantages of another length than tokens',
        { ...ROW, advantages: [0, 1] },
        /line 1: advantages has 2 entries, tokens has 3/,
      ],
      [
        'a mask of another length than tokens',
        { ...ROW, mask: [0, 1, 1, 1] },
        /line 1: mask has 4 entries, tokens has 3/,
      ],
      ['a missing array', { ...ROW, mask: undefined }, /line 1: mask: .*received undefined/],
      ['a mask that is neither 0 nor 1', { ...ROW, mask: [0, 0.5, 1] }, /line 1: mask\[1\]: must be 0 or 1/],
      ['a mask of zeros', { ...ROW, mask: [1, 0, 0] }, /bad: mask is 0 everywhere, so there is nothing to train on/],
      ['an empty batch', '', /bad: has no rows/],
      ['a token beyond the vocabulary', { ...ROW, tokens: [5, 99, 7] }, /line 1: token 99 is outside 0\.\.66/],
    ];
    for (const [what, row, line] of rows)
      it(`refuses ${what}`, async () => {
        await given(row);
        await refusesUpdate(line);
      });

    const configs: [what: string, config: object | string, line: RegExp][] = [
      [
        'an unknown field',
        { ...CONFIG, learningrate: 1 },
        /learningrate: no such field; known: learningRate, .*BAD_CONFIG/,
      ],
      ['a missing field', { ...CONFIG, learningRate: undefined }, /bad\.json: learningRate: .*\[BAD_CONFIG\]/],
      ['a field out of range', { ...CONFIG, betas: [0.9, 1] }, /betas\[1\]: .*<1/],
      ['a field of another type', { ...CONFIG, clip: '0.2' }, /bad\.json: clip: .*expected number/],
      ['text that is not JSON', '{', /bad\.json: not JSON/],
      ['an array instead of an object', '[]', /bad\.json: .*expected object/],
      [
        'klCoefficient but no referenceLogprobs in the rows',
        { ...CONFIG, klCoefficient: 0.1 },
        /line 1: referenceLogprobs: missing/,
      ],
    ];
    for (const [what, config, line] of configs)
      it(`refuses a configuration with ${what}`, async () => {
        await given(ROW, config);
        await refusesUpdate(line);
      });

    it('refuses old log-probs that make the gradient infinite', async () => {
      await given({ ...ROW, oldLogprobs: [0, -1e5, -1e5], advantages: [0, -1, -1] });
      await refusesUpdate(/the gradient is not finite: are oldLogprobs those of this policy\? \[BAD_INPUT\]/);
    });

    it('refuses an --out path below a file', async () => {
      await given(ROW);
      const { code, err } = await inProcess(
        ...['model', 'update', '--model', MODEL, '--adapter', ADAPTER, '--batch', at('bad')],
        ...['--config', at('bad.json'), '--out', join(at('bad'), 'out')],
      );
      assert.equal(code, EXIT.usage);
      assert.match(err, /--out .*bad is no folder/);
    });
  });

  describe('options', () => {
    const cases: [string[], RegExp][] = [
      [['--temperature', '0'], /'--temperature <t>' argument '0' is invalid\. It is not a number above 0/],
      [['--device', 'webgpu'], /'webgpu' is invalid\. Allowed choices are cpu, cuda, auto/],
      [['--quantize', 'int2'], /'int2' is invalid\. Allowed choices are int4, int8/],
      [['--group-size', '32'], /--group-size needs --quantize/],
      [
        ['--quantize', 'int4', '--group-size', '24'],
        /'--group-size <n>' argument '24' is invalid\. It is not a power of two/,
      ],
      [['--threads', '0'], /'--threads <n>' argument '0' is invalid\. It is not a whole number of at least 1/],
    ];
    for (const [flags, line] of cases)
      it(`refuses ${flags.join(' ')}`, () =>
        refuses(['logprobs', '--model', MODEL, '--input', at('rows.jsonl'), ...flags], line));

    it('refuses invalid sampling options of generate', async () => {
      const generate = ['generate', '--model', MODEL, '--input', at('rows.jsonl')];
      await refuses(
        [...generate, '--top-p', '1.5'],
        /argument '1\.5' is invalid\. It is not a number above 0 and at most 1/,
      );
      await refuses(
        [...generate, '--max-new-tokens', 'x'],
        /argument 'x' is invalid\. It is not a whole number of at least 1/,
      );
      await refuses(
        [...generate, '--stop-token', 'eos'],
        /'--stop-token <id>' argument 'eos' is invalid\. It is not a whole number/,
      );
    });

    it('refuses a command without a required option', () =>
      refuses(['inspect'], /required option '-m, --model <folder>' not specified/));
  });

  it('makes the real program exit with code 2 and print nothing on standard output', async () => {
    await writeFile(at('bad'), '{"tokens":[67]}');
    const { code, out, err } = await gauntlet(['model', 'logprobs', '--model', MODEL, '--input', at('bad')]);
    assert.deepEqual([code, out], [2, '']);
    assert.match(
      err,
      /^error: .*bad: line 1: token 67 is outside 0\.\.66, the vocabulary \(tokens\[0\]\) \[BAD_INPUT\]\n$/,
    );
  });

  it('leaves no temporary files', async () => {
    await rm(at('out'), { recursive: true, force: true });
    assert.deepEqual(
      (await readdir(folder)).filter((name) => /\.(new|old)-\d+$/.test(name)),
      [],
    );
  });
});

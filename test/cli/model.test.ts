// `gauntlet model`: init-adapter, logprobs and generate through the command line, against what transformers and peft
// recorded for the same checkpoint.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openRows } from '../../cli/model/jsonLines.js';
import { parseSafetensors } from '../../ml/hf/safetensors.js';
import { writeGiant } from '../support/giantModel.js';
import { writeRandomModel } from '../support/randomModel.js';
import { inProcess, removeFolders, temporaryFolder } from './support.js';

const MODEL = 'test/ml/parity/architectures/qwen2-tied-f32';
const ADAPTER = join(MODEL, 'adapter');

interface RecordedRow {
  prompt: number[];
  tokens: number[]; // greedy, never ended by eos
  logprobs: number[];
  tuned?: number[]; // with the adapter
}

const lines = (values: unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('');
const parsed = <T>(text: string): T[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);

function close(actual: number[], expected: number[]): void {
  assert.equal(actual.length, expected.length);
  const worst = Math.max(...actual.map((x, i) => Math.abs(x - expected[i]!)));
  assert.ok(worst < 1e-4, `off by ${worst}`);
}

describe('gauntlet model', function () {
  this.timeout(30_000);
  let folder: string;
  let recorded: RecordedRow[];
  const at = (name: string): string => join(folder, name);
  const run = async (...argv: string[]): Promise<string> => {
    const { code, out, err } = await inProcess('model', ...argv);
    assert.deepEqual([code, err], [0, '']);
    return out;
  };

  before(async () => {
    recorded = (JSON.parse(await readFile(join(MODEL, 'expected.json'), 'utf8')) as { rows: RecordedRow[] }).rows;
    folder = await temporaryFolder({
      'rows.jsonl': lines(recorded.map(({ prompt, tokens }) => ({ tokens: [...prompt, ...tokens], id: 'ignored' }))),
      'prompts.jsonl': lines(recorded.map(({ prompt }) => ({ tokens: prompt }))),
    });
    await writeRandomModel(at('model'));
  });
  after(removeFolders);

  describe('inspect', () => {
    it('prints the architecture of a model, its LoRA parameters and the memory it needs', async () => {
      const found = JSON.parse(await run('inspect', '--model', MODEL, '--rank', '3', '--json'));
      const { memory, files, ...rest } = found;
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
        lora: { rank: 3, parameters: 3792 },
      });
      assert.deepEqual(files, [{ name: 'model.safetensors', bytes: 130752 }]);
      assert.deepEqual([memory.rows, memory.length], [8, 256], 'no longer than the context');
      assert.ok(memory.decodeBytes > 1e8 && memory.trainBytes > 1e8 && memory.freeBytes > 0);
      const text = await run('inspect', '--model', MODEL, '--rank', '3');
      assert.match(text, /^architecture +Qwen2ForCausalLM\nparameters +32,032\n/);
      assert.match(text, /memory to train +0\.\d GB for rows of 256 tokens\nmemory free +[\d.]+ [GM]B\n$/);
    });

    it('inspects a model of any size, since it reads only headers; quantized weights need less memory', async () => {
      await writeGiant(at('giant'));
      const inspect = async (...more: string[]) =>
        JSON.parse(await run('inspect', '--model', at('giant'), '--json', ...more));
      const whole = await inspect();
      assert.equal(whole.parameters, 484_471_906_304);
      assert.ok(whole.memory.decodeBytes > 9e11 && whole.memory.trainBytes > 9e11);
      const { memory: few } = await inspect('--quantize', 'int4');
      assert.ok(few.trainBytes < 0.5 * whole.memory.trainBytes && few.trainBytes > 0.2 * whole.memory.trainBytes);
    });
  });

  describe('init-adapter', () => {
    const init = (out: string, ...more: string[]) =>
      run('init-adapter', '--model', MODEL, '--rank', '3', '--alpha', '6', '--out', at(out), ...more);

    it('writes a PEFT folder; the seed determines A, and B is zero', async () => {
      assert.match(await init('one', '--seed', '1'), /one: rank 3, alpha 6, 3792 parameters/);
      assert.deepEqual((await readdir(at('one'))).sort(), ['adapter_config.json', 'adapter_model.safetensors']);
      const config = JSON.parse(await readFile(join(at('one'), 'adapter_config.json'), 'utf8'));
      assert.deepEqual([config.peft_type, config.r, config.lora_alpha], ['LORA', 3, 6]);
      const bytes = await readFile(join(at('one'), 'adapter_model.safetensors'));
      for (const [name, { data, shape }] of parseSafetensors(bytes, 'adapter')) {
        const zero = name.includes('lora_B');
        assert.ok(data.some((x) => x !== 0) !== zero, name);
        assert.ok(zero || Math.max(...data) <= 1 / Math.sqrt(shape[1]!), name);
      }
      await init('same', '--seed', '1');
      await init('other', '--seed', '2');
      const weights = (name: string) => readFile(join(at(name), 'adapter_model.safetensors'));
      assert.ok((await weights('same')).equals(bytes) && !(await weights('other')).equals(bytes));
    });

    it('writes an adapter that does not change the log-probs of the base', async () => {
      const score = (...more: string[]) => run('logprobs', '--model', MODEL, '--input', at('rows.jsonl'), ...more);
      const [base, fresh] = [await score(), await score('--adapter', at('one'))];
      parsed<{ logprobs: number[] }>(fresh).forEach(({ logprobs }, i) => {
        close(logprobs, parsed<{ logprobs: number[] }>(base)[i]!.logprobs);
      });
    });

    it('prints a JSON summary with --json', async () => {
      const said = JSON.parse(await init('json', '--json'));
      assert.deepEqual(said, { out: at('json'), rank: 3, alpha: 6, seed: 0, parameters: 3792 });
    });
  });

  describe('logprobs', () => {
    const score = (...more: string[]) => run('logprobs', '--model', MODEL, '--input', at('rows.jsonl'), ...more);

    it('equal those of transformers and are one fewer than the tokens', async () => {
      const rows = parsed<{ logprobs: number[] }>(await score());
      assert.equal(rows.length, recorded.length);
      for (const [i, { logprobs }] of rows.entries()) close(logprobs, recorded[i]!.logprobs);
    });

    it('equal those of peft with an adapter', async () => {
      const rows = parsed<{ logprobs: number[] }>(await score('--adapter', ADAPTER));
      const tuned = recorded.flatMap((row, i) => (row.tuned ? [[rows[i]!.logprobs, row.tuned] as const] : []));
      assert.ok(tuned.length > 2);
      for (const [ours, theirs] of tuned) close(ours, theirs);
    });

    it('are flatter at a higher temperature', async () => {
      const sum = (text: string) => parsed<{ logprobs: number[] }>(text)[5]!.logprobs.reduce((a, b) => a + b, 0);
      assert.ok(sum(await score('--temperature', '2')) < sum(await score()), 'greedy tokens lose');
    });

    it('go to the output file atomically, and standard output stays empty', async () => {
      const out = await score();
      assert.equal(await score('--output', at('scores.jsonl')), '');
      assert.equal(await readFile(at('scores.jsonl'), 'utf8'), out);
      assert.deepEqual(
        (await readdir(folder)).filter((name) => name.includes('.new-')),
        [],
      );
    });

    it('do not depend on the other rows, byte for byte', async () => {
      const all = (await score()).split('\n');
      for (const [i, { prompt, tokens }] of recorded.entries()) {
        await writeFile(at('alone.jsonl'), lines([{ tokens: [...prompt, ...tokens] }]));
        if (i % 3 === 0) assert.equal(await score('--input', at('alone.jsonl')), `${all[i]}\n`);
      }
    });

    it('are close to those of the base if it is quantized, and closer with more bits', async () => {
      const flat = (text: string) => parsed<{ logprobs: number[] }>(text).flatMap(({ logprobs }) => logprobs);
      const model = ['--model', at('model')];
      const base = flat(await score(...model));
      const few = flat(await score(...model, '--quantize', 'int8'));
      const fewer = flat(await score(...model, '--quantize', 'int4', '--group-size', '16'));
      const away = (other: number[]) => Math.max(...base.map((x, i) => Math.abs(x - other[i]!)));
      assert.ok(away(few) > 0 && away(few) < away(fewer), `${away(few)}, ${away(fewer)}`);
    });

    it('come with one estimate of the value head each', async () => {
      await run(...['init-adapter', '--model', MODEL, '--value-head', '--out', at('valued')]);
      const rows = parsed<{ logprobs: number[]; values: number[] }>(await score('--adapter', at('valued'), '--values'));
      for (const { logprobs, values } of rows)
        assert.deepEqual(
          values,
          logprobs.map(() => 0),
          'a new head is zero',
        );
      const { code, err } = await inProcess(
        ...['model', 'logprobs', '--model', MODEL, '--input', at('rows.jsonl'), '--adapter', ADAPTER, '--values'],
      );
      assert.equal(code, 2);
      assert.match(err, /--values: needs an --adapter with a value head \[BAD_ADAPTER\]/);
    });

    it('are empty for a row of one token', async () => {
      await writeFile(at('one.jsonl'), '{"tokens":[3]}\n');
      assert.equal(await run('logprobs', '--model', MODEL, '--input', at('one.jsonl')), '{"logprobs":[]}\n');
    });

    it('are the same if the rows come from standard input', async () => {
      const child = spawn(process.execPath, [
        'bin/gauntlet.mjs',
        'model',
        'logprobs',
        '--model',
        MODEL,
        '--input',
        '-',
      ]);
      let out = '';
      child.stdout.on('data', (text) => {
        out += text;
      });
      child.stdin.end(await readFile(at('rows.jsonl')));
      await new Promise((settle) => child.on('close', settle));
      assert.equal(out, await score());
    });
  });

  describe('generate', () => {
    const generate = (...more: string[]) =>
      run('generate', '--model', MODEL, '--input', at('prompts.jsonl'), '--max-new-tokens', '40', ...more);

    it('generates the same greedy tokens as transformers, up to the end token', async () => {
      const answers = parsed<{ tokens: number[]; text: null }>(await generate('--temperature', '0'));
      const EOS = 2; // from generation_config.json
      for (const [i, { tokens }] of recorded.entries()) {
        const end = tokens.indexOf(EOS);
        assert.deepEqual(answers[i], { tokens: end < 0 ? tokens : tokens.slice(0, end + 1), text: null });
      }
    });

    it('depends only on the seed and the row number', async () => {
      const sampled = await generate('--seed', '4');
      assert.equal(await generate('--seed', '4', '--threads', '1'), sampled);
      assert.notEqual(await generate('--seed', '5'), sampled);
      await writeFile(at('first.jsonl'), lines(recorded.slice(0, 4).map(({ prompt }) => ({ tokens: prompt }))));
      const first = await generate('--seed', '4', '--input', at('first.jsonl'));
      assert.deepEqual(parsed(first), parsed(sampled).slice(0, 4));
      await writeFile(at('twins.jsonl'), lines([{ tokens: [5, 6] }, { tokens: [5, 6] }]));
      const [left, right] = parsed(await generate('--input', at('twins.jsonl')));
      assert.notDeepEqual(left, right, 'equal prompts draw differently');
    });

    it('stops at the given stop token and keeps it in tokens', async () => {
      const [stop] = recorded[0]!.tokens.slice(3, 4);
      const [answer] = parsed<{ tokens: number[] }>(await generate('--temperature', '0', '--stop-token', String(stop)));
      assert.deepEqual(answer!.tokens, recorded[0]!.tokens.slice(0, recorded[0]!.tokens.indexOf(stop!) + 1));
    });

    it('samples from the most likely tokens with --top-k and --top-p', async () => {
      const greedy = await generate('--temperature', '0');
      assert.equal(await generate('--temperature', '1', '--top-k', '1'), greedy);
      assert.equal(await generate('--temperature', '1', '--top-p', '0.000001'), greedy);
      assert.notEqual(await generate('--temperature', '0', '--repetition-penalty', '1.5'), greedy);
    });

    it('applies the chat template to messages and returns the new text', async () => {
      const turns = [
        { role: 'user', content: 'solve 3' },
        { role: 'assistant', content: 'x' },
        { role: 'user', content: 'again' },
      ];
      await writeFile(at('messages.jsonl'), lines([{ messages: turns.slice(0, 1) }, { messages: turns }]));
      const out = await run(
        ...['generate', '--model', at('model'), '--input', at('messages.jsonl')],
        ...['--max-new-tokens', '5', '--temperature', '0'],
      );
      const answers = parsed<{ tokens: number[]; text: string }>(out);
      assert.equal(answers.length, 2);
      for (const { tokens, text } of answers) {
        assert.deepEqual(Object.keys(answers[0]!), ['tokens', 'text']);
        assert.ok(tokens.length > 0 && tokens.length <= 5 && text.length > 0);
      }
    });

    it('passes --template-argument to the chat template', async () => {
      await cp(at('model'), at('arguments'), { recursive: true });
      const template = "{{ messages[0].content }}{% if thinks is false %}{{ ' solve' }}{% endif %}";
      await writeFile(join(at('arguments'), 'chat_template.jinja'), template);
      const answer = async (row: object, ...more: string[]) => {
        await writeFile(at('row.jsonl'), lines([row]));
        const fixed = ['--max-new-tokens', '9', '--temperature', '0'];
        return run('generate', '--model', at('arguments'), '--input', at('row.jsonl'), ...fixed, ...more);
      };
      const messages = (content: string) => ({ messages: [{ role: 'user', content }] });
      const [plain, longer] = [await answer(messages('x')), await answer(messages('x solve'))];
      assert.equal(await answer(messages('x'), '--template-argument', 'thinks=false'), longer);
      assert.equal(await answer(messages('x'), '--template-argument', 'thinks=true'), plain);
      assert.notEqual(plain, longer);
    });

    it('keeps the end token out of the text', async () => {
      await cp(at('model'), at('ending'), { recursive: true });
      const all = Array.from({ length: 50 }, (_, id) => id);
      await writeFile(join(at('ending'), 'generation_config.json'), JSON.stringify({ eos_token_id: all }));
      await writeFile(at('messages.jsonl'), lines([{ messages: [{ role: 'user', content: 'solve 3' }] }]));
      const out = await run(
        'generate',
        '--model',
        at('ending'),
        '--input',
        at('messages.jsonl'),
        '--max-new-tokens',
        '99',
      );
      const [{ tokens, text } = { tokens: [], text: '' }] = parsed<{ tokens: number[]; text: string }>(out);
      assert.ok(tokens.at(-1)! < 50, 'it ended');
      assert.equal(text === '', tokens.length === 1);
    });
  });

  it('Ctrl-C ends a command with exit code 130 and leaves no partial file', async () => {
    const rows = Array.from({ length: 4000 }, (_, n) => ({ tokens: [n % 60, 5, 6] }));
    await writeFile(at('long.jsonl'), lines(rows));
    const child = spawn(process.execPath, [
      ...['bin/gauntlet.mjs', 'model', 'generate', '--model', MODEL, '--input', at('long.jsonl')],
      ...['--max-new-tokens', '250', '--output', at('long-answers.jsonl')],
    ]);
    const there = async () => (await readdir(folder)).some((name) => name.startsWith('long-answers'));
    while (!(await there())) await new Promise((settle) => setTimeout(settle, 10));
    child.kill('SIGINT');
    let err = '';
    child.stderr.on('data', (text) => {
      err += text;
    });
    assert.equal(await new Promise((settle) => child.on('close', settle)), 130);
    assert.match(err, /stopped before the end\n$/);
    assert.ok(!(await there()));
  });

  it('reads rows in order and in batches of any size', async () => {
    await writeFile(at('many.jsonl'), `${lines(Array.from({ length: 7 }, (_, n) => n)).replace('3\n', '\n3\n')}\n`);
    const rows = await openRows(at('many.jsonl'), (value) => value as number);
    const sizes = async (size: number): Promise<number[]> => {
      const batches: number[][] = [];
      for await (const batch of rows.batches(size)) batches.push(batch);
      assert.deepEqual(batches.flat(), [0, 1, 2, 3, 4, 5, 6]);
      return batches.map((batch) => batch.length);
    };
    assert.deepEqual([rows.count, await sizes(3), await sizes(5), await sizes(99)], [7, [3, 3, 1], [5, 2], [7]]);
    await rows.close();
    assert.ok(existsSync(at('many.jsonl')), 'a file of the user is left');
  });

  it('copies a pipe to a temporary file until the rows are closed', async () => {
    const child = spawn('sh', ['-c', `mkfifo '${at('pipe')}' && echo 1 > '${at('pipe')}'`]);
    while (!existsSync(at('pipe'))) await new Promise((settle) => setTimeout(settle, 5));
    const rows = await openRows(at('pipe'), (value) => value as number);
    for (const _ of [1, 2]) for await (const batch of rows.batches()) assert.deepEqual(batch, [1]);
    await rows.close();
    await rm(at('pipe'));
    child.kill();
  });
});

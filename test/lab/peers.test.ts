// The contenders as processes. The Python peers run only if GAUNTLET_BENCH_VENV names their environment.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import type { Contender } from '../../lab/bench/cases.js';
import { type Job, makeJob } from '../../lab/bench/inputs.js';
import { Peer } from '../../lab/bench/peers/peer.js';
import type { CaseResult } from '../../lab/bench/results.js';
import { compare, type Outcome } from '../../lab/bench/runner.js';
import { provideShape, SHAPES } from '../../lab/bench/shapes.js';
import { temporaryFolder, writeInto } from '../infra/support.js';

const scripts = join(ROOT, 'lab', 'bench', 'peers');
const python3 = spawnSync('python3', ['--version']).status === 0 ? 'python3' : undefined;
const venv = process.env.GAUNTLET_BENCH_VENV;
const ours = (): Peer =>
  Peer.start('ours', process.execPath, [join(ROOT, 'dist', 'lab', 'bench', 'peers', 'ours.js')], {
    GAUNTLET_THREADS: '1',
  });

describe('a Python peer', () => {
  let peer: Peer;
  before(function () {
    if (!python3) {
      console.log('      skipped: no python3 on the PATH');
      return this.skip();
    }
    const script = writeInto(
      temporaryFolder(),
      'peer.py',
      `import os, sys
sys.path.insert(0, ${JSON.stringify(scripts)})
from protocol import serve
def fail(_): raise ValueError("no good\\nsecond line")
def chat(_):
    print("a library says hello")
    return {"answer": 42}
def end(_): os._exit(5)
def hang(_):
    import time
    time.sleep(60)
serve({"fail": fail, "chat": chat, "end": end, "hang": hang})
`,
    );
    peer = Peer.start('toy', python3, [script]);
  });
  after(async () => {
    await peer?.close();
  });

  it('answers a failure with its type and first line and keeps running', async () => {
    await assert.rejects(peer.request('fail'), { message: 'toy: ValueError: no good' });
    await assert.rejects(peer.request('nonsense'), { message: 'toy: ValueError: unknown op nonsense' });
    assert.deepEqual((await peer.request('chat')).result, { answer: 42 });
  });

  it('may print other text, which is ignored', async () => {
    const { result, cpuSeconds } = await peer.request('chat');
    assert.deepEqual(result, { answer: 42 });
    assert.ok(cpuSeconds >= 0);
  });

  it('reports its peak resident set size', async () => {
    const { bytes } = (await peer.request<{ bytes: number }>('memory')).result;
    assert.ok(bytes > 2e6 && bytes < 2e9, `${bytes}`);
  });

  it('makes pending and later requests fail when it exits', async () => {
    await assert.rejects(peer.request('end'), /toy ended \(exit 5\)/);
    await assert.rejects(peer.request('chat'), /toy ended \(exit 5\)/);
  });

  it('is killed if it hangs', async () => {
    const again = Peer.start('slow', python3!, ['-c', 'import time; time.sleep(60)']);
    await assert.rejects(again.request('run', {}, 0.2), { message: 'slow: no answer to run within 0.2 s' });
    await again.close();
  });

  it('makes requests fail if it cannot start', async () => {
    const none = Peer.start('none', join(ROOT, 'no-such-program'), []);
    await assert.rejects(none.request('hello'), /none ended \(.*ENOENT/);
    await none.close();
  });
});

/** Chains that are cut to different lengths, all of which fit into the context. */
function ragged(): Job {
  const job = makeJob({ kind: 'ragged', problems: 1, samples: 2 }, SHAPES.embedded.vocab, 'test', 0);
  assert.ok(job.kind === 'train');
  const rows = job.rows.map((row, i) => {
    const { tokens, mask, oldLogprobs, advantages } = row;
    const cut = (values: number[]): number[] => values.slice(0, 330 + 9 * i);
    const arrays = { oldLogprobs: cut(oldLogprobs), advantages: cut(advantages!) };
    return { ...row, tokens: cut(tokens), mask: cut(mask), ...arrays };
  });
  return { ...job, rows };
}

describe('the contenders on the shape of the shipped model', () => {
  const vocab = SHAPES.embedded.vocab;
  const jobs: Job[] = [
    makeJob({ kind: 'train', rows: 4, length: 24 }, vocab, 'test', 0),
    makeJob({ kind: 'score', rows: 4, length: 24 }, vocab, 'test', 0),
    makeJob({ kind: 'decode', rows: 4, prompt: 8, newTokens: 12 }, vocab, 'test', 0),
    makeJob({ kind: 'decode', rows: 4, prompt: 8, newTokens: 12, adapter: true }, vocab, 'test', 0),
    ragged(),
    {
      kind: 'step',
      openings: [
        [1, 2, 3],
        [1, 2, 3],
        [4, 5, 6, 7, 8],
      ],
      continuations: [9, 10, 11, 12].map((token) =>
        [0, 1, 2].map((chain) => ({ ended: [token, chain], truncated: [0, token, chain] })),
      ),
      tests: [
        [3, 2, 1],
        [6, 5],
      ],
      newTokens: 6,
      testTokens: 4,
      endTokens: [20, 30],
      advantages: [1, -0.5, 0.2],
    },
  ];
  let model: string;
  let outcomes: Outcome[];
  let peer: Peer;

  before(async () => {
    model = provideShape('embedded', temporaryFolder());
    peer = ours();
    await peer.request('open', { model });
    outcomes = [];
    for (const job of jobs) outcomes.push((await peer.request<Outcome>('run', { job })).result);
  });
  after(async () => {
    await peer?.close();
  });

  it('have a folder with weights and an adapter that is written once', () => {
    const bytes = readFileSync(join(model, 'model.safetensors'));
    assert.equal(provideShape('embedded', join(model, '..')), model);
    assert.deepEqual(readFileSync(join(model, 'model.safetensors')), bytes);
    assert.ok(JSON.parse(readFileSync(join(model, 'adapter', 'adapter_config.json'), 'utf8')).r === 8);
  });

  it('train, score and decode in our peer, which reports the time', () => {
    const [train, score, decode] = outcomes as [Outcome, Outcome, Outcome];
    assert.ok(Number.isFinite(train.loss) && train.loss !== 0);
    assert.ok(Math.abs(score.loss! - Math.log(vocab)) < 2, `${score.loss}`);
    assert.deepEqual(
      decode.tokens!.map((row) => row.length),
      [12, 12, 12, 12],
    );
    for (const { seconds } of outcomes) assert.ok(seconds > 0);
  });

  it('answer every stage and test of a step in our peer, which decodes no token twice and times each part', () => {
    const step = outcomes[5]!;
    assert.equal(step.tokens!.length, 5 * 3 + 2);
    assert.deepEqual(step.tokens![0], step.tokens![1]); // the greedy answers of stage 1 to the same problem are equal
    assert.notDeepEqual(step.tokens![3], step.tokens![4]);
    assert.ok(step.loss! > 0);
    assert.deepEqual(Object.keys(step.parts!), ['chains', 'tests', 'scoring', 'update']);
    assert.equal(step.redecoded, 0);
  });

  it('fail with one line for a missing model in our peer, which reports its versions and memory', async () => {
    const other = ours();
    await assert.rejects(other.request('run', { job: jobs[0] }), { message: 'ours: no model is open' });
    await assert.rejects(other.request('open', { model: '/no/such/model' }), /^Error: ours: .*no such/i);
    await assert.rejects(other.request('dance'), { message: 'ours: unknown op dance' });
    const { result } = await other.request<Record<string, string>>('hello');
    assert.equal(result.node, process.versions.node);
    assert.ok((await other.request<{ bytes: number }>('memory')).result.bytes > 1e7);
    await other.close();
  });

  for (const [name, kinds] of [
    ['torch', [0, 1, 2, 3, 4, 5]],
    ['torch-trained', [0, 1, 4, 5]],
    ['llama', [2]],
  ] as const) {
    it(`agree with our peer and fail with one line for a missing model: ${name}`, async function () {
      if (!venv) {
        console.log(
          '      skipped: GAUNTLET_BENCH_VENV names no Python with torch and llama-cpp-python; npm run bench makes one',
        );
        return this.skip();
      }
      const python = join(venv, 'bin', 'python');
      if (name === 'llama') {
        const made = spawnSync(python, [join(scripts, 'write_gguf.py'), model, join(model, 'model.gguf')]);
        assert.equal(made.status, 0, made.stderr.toString());
      }
      const [file, ...variant] = name.split('-');
      const theirs = Peer.start(name, python, ['-W', 'ignore', join(scripts, `${file}_peer.py`), '1', ...variant]);
      await assert.rejects(
        theirs.request('open', { model: '/no/such/model' }).then(() => theirs.request('run', { job: jobs[2] })),
        (error: Error) => error.message.startsWith(`${name}: `) && !error.message.includes('\n'),
      );
      await theirs.request('open', { model });
      for (const i of kinds) {
        const outcome = (await theirs.request<Outcome>('run', { job: jobs[i] })).result;
        const result: Pick<CaseResult, 'agreement' | 'scores'> = { agreement: {} };
        compare(
          new Map<Contender, Outcome>([
            ['ours', outcomes[i]!],
            [name, outcome],
          ]),
          result,
        );
        const { kind } = jobs[i]!;
        const agreement = result.agreement[name]!;
        if (kind !== 'decode' && kind !== 'step') assert.ok(agreement < 1e-4, `${kind}: losses differ by ${agreement}`);
        else assert.ok(agreement > 0.9, `${agreement} of the tokens agree`);
        if (kind === 'step') assert.ok(agreement < 1 || result.scores![name]! < 1e-4, `${result.scores![name]}`);
      }
      await theirs.close();
    });
  }
});

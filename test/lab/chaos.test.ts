// The plan, the reports, the comparison and the figures of a chaos run; test/workflows/crash.system.test.ts makes a short run.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import { RandomStream } from '../../core/base/random.js';
import type { ChaosOptions } from '../../lab/chaos/chaos.js';
import { type ChaosFigures, complaints, described, spreadOf } from '../../lab/chaos/figures.js';
import { type Execution, recovery, repeatedWork } from '../../lab/chaos/histories.js';
import { failing, instrumented, type Notice } from '../../lab/chaos/instrument.js';
import { leftContainers, leftProcesses, settled } from '../../lab/chaos/leftovers.js';
import { main } from '../../lab/chaos/main.js';
import { damageOf, differences, outcomeOf } from '../../lab/chaos/outcome.js';
import { planStrikes, VICTIMS } from '../../lab/chaos/plan.js';
import { IMAGES } from '../../sandbox/docker/image.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import { ownLabels } from '../../sandbox/docker/reaper.js';
import { layout } from '../../store/layout.js';
import { openStore } from '../../store/openStore.js';
import { temporaryFolder } from '../infra/support.js';
import { requireDocker } from '../sandbox/docker.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

const SOUND: ChaosFigures = {
  seed: 1,
  sandbox: 'wasm',
  asked: 2,
  killed: 2,
  kills: { gpu: 1, server: 1 },
  atWrite: 1,
  storeFaults: 3,
  forgotten: 0,
  workersStarted: 5,
  compared: 100,
  differences: [],
  damaged: [],
  orphans: { processes: [], containers: [] },
  repeated: {
    activities: 30,
    attempts: 1,
    byActivity: { trainPolicy: 1 },
    seconds: 2,
    tokens: { undisturbed: 50, disturbed: 60 },
  },
  recovery: { median: 1, p90: 2, max: 2, byVictim: { gpu: 1, server: 2 } },
  undisturbedSeconds: 10,
  disturbedSeconds: 20,
};

describe('planStrikes', () => {
  const options = { kills: 50, seed: 3, results: 400, sandbox: 'docker', disk: true } as const;
  const plan = planStrikes(options);

  it('depends only on the seed', () => {
    assert.deepEqual(planStrikes(options), plan);
    assert.notDeepEqual(planStrikes({ ...options, seed: 4 }), plan);
  });

  it('hits every kind of victim several times, in order and before the run ends', () => {
    assert.equal(plan.length, 50);
    for (const victim of VICTIMS) assert.ok(plan.filter((strike) => strike.victim === victim).length >= 3, victim);
    const moments = plan.map(({ after }) => after);
    assert.deepEqual(
      moments,
      [...moments].sort((a, b) => a - b),
    );
    assert.ok(moments.at(-1)! <= 380 && moments[0]! < 60);
    assert.ok(plan.some(({ atWrite }) => atWrite?.moment === 'during'));
    assert.ok(plan.every(({ atWrite, victim }) => !atWrite || ['gpu', 'sandbox', 'cpu'].includes(victim)));
  });

  it('skips victims that the run does not have', () => {
    const wasm = planStrikes({ ...options, sandbox: 'wasm', disk: false }).map(({ victim }) => victim);
    for (const victim of ['container', 'daemon', 'disk'] as const) assert.ok(!wasm.includes(victim));
  });
});

describe('an instrumented worker', () => {
  let world: Doubles;
  beforeEach(async () => {
    world = await doubles();
  });

  it('makes the given share of writes fail, before or after they take effect', async () => {
    const heard: Notice[] = [];
    const store = failing(world.deps.store, { share: 0.3, seed: 's' }, (notice) => heard.push(notice));
    const failed = { done: 0, undone: 0 };
    for (let i = 0; i < 200; i++) {
      const key = i.toString(16).padStart(64, '0');
      const digest = await world.deps.store.putJson(i);
      const fault = await store.putMemo(key, digest).then(
        () => undefined,
        (error: { code: string }) => error.code,
      );
      if (fault === undefined) continue;
      assert.equal(fault, 'STORE_FAULT');
      failed[(await store.getMemo(key)) === undefined ? 'undone' : 'done']++;
    }
    assert.equal(failed.done + failed.undone, heard.length);
    assert.ok(failed.done > 10 && failed.undone > 10 && heard.length < 100, JSON.stringify(failed));
  });

  for (const [moment, done] of [
    ['before', false],
    ['after', true],
  ] as const) {
    it(`dies ${moment} the chosen write`, async () => {
      const death = { write: 1, moment };
      let deaths = 0;
      let there = false;
      let written: Promise<unknown> | undefined;
      const key = 'a'.repeat(64);
      const digest = await world.deps.store.putJson('x');
      const died = new Promise<void>((resolve) => {
        const die = (): void => {
          deaths++;
          there = existsSync(join(world.folder, 'memo', key));
          resolve();
        };
        const store = failing(world.deps.store, { share: 0, seed: 's', death: () => death, die }, () => undefined);
        written = store.putJson('y').then(() => store.putMemo(key, digest));
      });
      await died;
      await written; // the fake `die` does not exit
      assert.deepEqual([deaths, there], [1, done]);
    });
  }

  it('reports sampled tokens and the times at which programs run', async () => {
    const heard: Notice[] = [];
    world.engine.generate = async (_rows, { onProgress }) => {
      for (const amount of [3, 4]) onProgress?.(amount);
      return [];
    };
    const deps = instrumented(world.deps, (notice) => heard.push(notice));
    const engine = await deps.engine('double', {} as never);
    let passedOn = 0;
    const onProgress = (amount: number): void => {
      passedOn += amount;
    };
    await engine.generate([], { maxNewTokens: 1, temperature: 1, stopTokens: [], onProgress });
    await (await deps.sandbox({ sandbox: 'wasm' })).run([]);
    assert.deepEqual(heard, [
      { kind: 'tokens', amount: 3 },
      { kind: 'tokens', amount: 4 },
      { kind: 'sandbox', busy: true },
      { kind: 'sandbox', busy: false },
    ]);
    assert.equal(passedOn, 7);
    assert.equal(await deps.engine('double', {} as never), engine, 'one engine stays one');
  });
});

describe('the comparison of two chaos runs', () => {
  const KINDS = ['checkpoint_', 'metrics ', 'result ', 'output '];
  let world: Doubles;
  let copy = '';
  const damage = async (path: string, change: (text: string) => string): Promise<void> => {
    const file = join(copy, path);
    await writeFile(file, change(await readFile(file, 'utf8')));
  };
  before(async () => {
    world = await doubles();
    await runPipeline(createActivities(world.deps), 'run', SMALL_RUN);
  });
  beforeEach(async () => {
    copy = temporaryFolder();
    await cp(world.folder, copy, { recursive: true });
  });
  const compared = async () => differences(await outcomeOf(world.folder, 'run'), await outcomeOf(copy, 'run'));

  it('finds no difference between equal runs in checkpoints, metrics, result and activities', async () => {
    const names = [...(await outcomeOf(copy, 'run')).keys()];
    for (const kind of KINDS) assert.ok(names.filter((name) => name.startsWith(kind)).length >= 3, kind);
    assert.deepEqual(await compared(), []);
    assert.deepEqual(await damageOf(copy), []);
  });

  it('names changed and missing results', async () => {
    const store = await openStore(copy);
    const [first, second] = (await store.memoKeys()).filter((key) => /^[0-9a-f]{64}$/.test(key)) as [string, string];
    await rm(join(copy, 'memo', first));
    await store.putMemo(first, await store.putJson('another'));
    await rm(join(copy, 'memo', second));
    assert.deepEqual(await compared(), [`output ${first.slice(0, 16)}`, `output ${second.slice(0, 16)}`].sort());
  });

  it('distinguishes two seeds by checkpoints, metrics, result and outputs', async () => {
    const other = await doubles();
    await runPipeline(createActivities(other.deps), 'run', { ...SMALL_RUN, seed: 99 });
    const found = differences(await outcomeOf(world.folder, 'run'), await outcomeOf(other.folder, 'run'));
    for (const kind of KINDS)
      assert.ok(
        found.some((name) => name.startsWith(kind)),
        kind,
      );
  });

  it('names a damaged artifact', async () => {
    const store = await openStore(copy);
    const digest = await store.putJson({ some: 'artifact' });
    await damage(layout.blob(digest), (text) => text.replace('some', 'same'));
    assert.match((await damageOf(copy)).join(), new RegExp(digest));
  });
});

describe('leftovers of a chaos run', () => {
  it('finds processes that name the folder or belong to the session of a worker, until they exit', async () => {
    const folder = temporaryFolder();
    const named = spawn('sleep', ['60'], { env: { ...process.env, SOMETHING: folder }, stdio: 'ignore' });
    // runs in its own session without the folder name, like an interpreter with an empty environment
    const worker = spawn('/bin/sh', ['-c', 'sleep 60 & wait'], { env: {}, detached: true, stdio: 'ignore' });
    try {
      const look = (): string[] => leftProcesses(folder, new Set([worker.pid!]));
      let seen = look();
      for (; seen.length < 3; seen = look()) await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal(seen.length, 3, seen.join('; '));
      worker.kill('SIGKILL');
      await new Promise((resolve) => worker.once('exit', resolve));
      assert.equal(look().length, 2, 'the child of a killed worker stays one of its session');
      process.kill(-worker.pid!, 'SIGKILL');
      named.kill('SIGKILL');
      assert.deepEqual(await settled(look, 20_000), []);
    } finally {
      named.kill('SIGKILL');
    }
  });

  it('finds containers of dead workers only', async function () {
    const docker = await requireDocker(this);
    await (await openDocker({ size: 1 })).close(); // this builds the image
    const pid = 2 ** 22 + 1; // no process has this pid
    const [name, label] = Object.entries(ownLabels())[0]!;
    const container = await docker.createContainer({
      Image: IMAGES.none,
      Cmd: ['true'],
      Labels: { [name]: label.replace(`,${process.pid},`, `,${pid},`) },
    });
    try {
      const left = await leftContainers(docker, new Set([pid]));
      assert.equal(left.length, 1);
      assert.ok(left[0]!.startsWith(container.id.slice(0, 12)));
      assert.deepEqual(await leftContainers(docker, new Set([pid + 1])), []);
    } finally {
      await container.remove({ force: true });
    }
    assert.deepEqual(await leftContainers(docker, new Set([pid])), []);
  });
});

describe('the figures of a chaos run', () => {
  const execution = (name: string, scheduled: number, completed: number, attempt = 1): Execution => ({
    name,
    attempt,
    scheduled,
    completed,
    started: completed - 100,
  });

  it('end the recovery when an activity that was scheduled after the kill completes', () => {
    const executions = [execution('a', 1000, 2500), execution('b', 2600, 4000), execution('c', 4100, 5000)];
    assert.equal(recovery(2000, executions, 9000), 2);
    assert.equal(recovery(4050, executions, 9000), 0.95);
    assert.equal(recovery(4500, executions, 9000), 4.5, 'else by its end');
  });

  it('count every attempt after the first as repeated work, by activity', () => {
    const executions = [execution('a', 0, 1100, 3), execution('b', 1100, 2000), execution('a', 2000, 4100, 2)];
    assert.deepEqual(repeatedWork(executions), { attempts: { a: 3 }, seconds: 3 });
  });

  it('use nearest ranks for percentiles (spreadOf)', () => {
    const random = new RandomStream('ranks');
    const values = random.shuffle([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert.deepEqual(spreadOf(values), { median: 5, p90: 9, max: 10 });
    assert.deepEqual(spreadOf([]), { median: 0, p90: 0, max: 0 });
  });

  const wrong: [string, Partial<ChaosFigures>, RegExp][] = [
    ['a difference', { differences: ['metrics 3 loss'] }, /^1 of 100 digests and figures differ: metrics 3 loss$/],
    ['damage', { damaged: ['blob x: missing'] }, /^1 artifacts are damaged or missing: blob x/],
    [
      'a remaining process',
      { orphans: { processes: ['12 sleep'], containers: [] } },
      /^1 processes are left: 12 sleep$/,
    ],
    [
      'a remaining container',
      { orphans: { processes: [], containers: ['c0ffee'] } },
      /^1 containers are left: c0ffee$/,
    ],
    ['fewer kills than planned', { killed: 1 }, /^only 1 of 2 kills took place before the run ended$/],
    ['an empty comparison', { compared: 0 }, /^there was nothing to compare$/],
  ];
  const run = async (args: string[], figures: Partial<ChaosFigures>) => {
    const printed: string[] = [];
    const noted: string[] = [];
    let asked: ChaosOptions | undefined;
    const code = await main(args, {
      run: async (options) => {
        asked = options;
        return { ...SOUND, ...figures };
      },
      print: (line) => printed.push(line),
      note: (line) => noted.push(line),
    });
    return { code, printed, noted, asked: asked! };
  };

  it('make main exit with 0 for equal runs, and print one line of JSON with --json', async () => {
    const { code, printed, asked } = await run(['--json', '--seed', '7', '--kills', '2'], {});
    assert.equal(code, 0);
    assert.deepEqual(printed.length, 1);
    assert.deepEqual(JSON.parse(printed[0]!), SOUND);
    assert.deepEqual([asked.seed, asked.kills, asked.sandbox, asked.config.seed], [7, 2, 'wasm', 7]);
    assert.ok(!existsSync(asked.folder), 'nothing of it is kept');
    assert.deepEqual((await run([], {})).printed, described(SOUND));
  });

  for (const [what, figures, line] of wrong) {
    it(`make main report ${what} and exit with a non-zero code`, async () => {
      const [complaint, ...more] = complaints({ ...SOUND, ...figures });
      assert.match(complaint!, line);
      assert.deepEqual(more, []);
      const { code, printed, noted } = await run(['--json'], figures);
      assert.notEqual(code, 0);
      assert.equal(printed.length, 1, 'the figures come all the same');
      assert.ok(noted.includes(`FAILED: ${complaint}`));
    });
  }

  it('make main reject invalid options', async () => {
    for (const args of [
      ['--kills', '0'],
      ['--seed', 'x'],
      ['--store-faults', '1'],
      ['--sandbox', 'none'],
    ])
      await assert.rejects(run(args, {}), { code: 'BAD_CONFIG', message: new RegExp(args[0]!) });
  });

  it('are documented in docs/chaos.md', () => {
    const page = readFileSync('docs/chaos.md', 'utf8');
    const { orphans, repeated, recovery } = SOUND;
    for (const field of [SOUND, orphans, repeated, repeated.tokens, recovery].flatMap((part) => Object.keys(part)))
      assert.ok(page.includes(`\`${field}\``), field);
    for (const victim of VICTIMS) assert.ok(page.includes(victim), victim);
  });
});

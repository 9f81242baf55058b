// For bad input, a command prints one line, exits with code 2 and starts nothing.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { parseRoles } from '../../cli/commands/worker.js';
import { parseAssignments, readConfig, readTemplateArguments, withPaths } from '../../cli/input/config.js';
import { limitsOf, withLimits } from '../../cli/input/limitFlags.js';
import { chooseModel } from '../../cli/input/modelOptions.js';
import { integer, number } from '../../cli/input/options.js';
import { differingFields } from '../../cli/run/training.js';
import { commandLine, useStore } from '../../cli/terminal/commandLine.js';
import { EXIT } from '../../cli/terminal/exitCodes.js';
import { shippedModelPath } from '../../data/paths.js';
import { needTemporal } from '../workflows/server.js';
import { inProcess, madeRun, removeFolders, temporaryFolder, withEnvironment } from './support.js';

/** Asserts that the command fails with exactly this line. */
async function refuses(argv: string[], line: RegExp, exitCode: number = EXIT.usage): Promise<void> {
  const { code, out, err } = await inProcess(...argv);
  assert.equal(err.trim().split('\n').length, 1, err);
  assert.match(err, line);
  assert.equal(code, exitCode);
  assert.equal(out, '');
}

describe('command-line validation', () => {
  let folder: string;
  let store: string[];

  const ownServer = process.env.TEMPORAL_ADDRESS;

  before(async () => {
    delete process.env.TEMPORAL_ADDRESS; // the store may be missing because the server is an external one
    folder = await temporaryFolder({
      'broken.json': '{"preset": "tiny",',
      'list.json': '[1]',
      'field.json': '{"ppo": {"learningrate": 1}}',
      'problems.json': '[{"id": "a", "description": "b", "reference_solution": "x", "baseline_tests": []}]',
      'unsolved.json': '[{"id": "a", "description": "b", "function_signature": "def f(x):", "baseline_tests": []}]',
      'programs.jsonl': '{"id": "a", "code": "", "entry": "f"}\n',
    });
    store = ['--store', join(folder, 'store')];
  });
  after(async () => {
    if (ownServer !== undefined) process.env.TEMPORAL_ADDRESS = ownServer;
    await removeFolders();
  });

  const file = (name: string): string => join(folder, name);

  it('refuses an unknown preset', () =>
    refuses(['train', '--preset', 'huge', ...store], /preset: unknown 'huge'; known: tiny/));
  it('refuses a configuration that is not JSON', () =>
    refuses(['train', '--config', file('broken.json'), ...store], /broken\.json: not JSON: .*\[BAD_INPUT\]/));
  it('refuses a configuration that is not an object', () =>
    refuses(['train', '--config', file('list.json'), ...store], /list\.json: must hold an object/));
  it('refuses rollout settings that the workers of the run would refuse, and starts nothing', async () => {
    const rollouts = (adapters: string) =>
      `rollouts={"endpoint":"http://gpu:8000","adapters":${JSON.stringify(adapters)}}`;
    const train = (adapters: string) => ['train', '--preset', 'tiny', '--set', rollouts(adapters), ...store];
    const outside = /rollouts\.adapters: \/shared is outside of the store: set GAUNTLET_ROLLOUTS_ADAPTERS .*BAD_CONFIG/;
    await refuses(train('/shared'), outside);
    const env = { GAUNTLET_ROLLOUTS_API_KEY: 'secret', GAUNTLET_ROLLOUTS_ENDPOINT: undefined };
    const { code, err } = await withEnvironment(env, ...train(file('store/adapters')));
    assert.equal(code, EXIT.usage);
    assert.match(err, /^error: rollouts\.endpoint: .* set GAUNTLET_ROLLOUTS_ENDPOINT .*BAD_CONFIG.*\n$/);
    assert.equal(existsSync(file('store')), false);
  });
  it('refuses limits and runtimes with which no program could run, and starts nothing', async () => {
    const answers: Record<string, object> = {
      '/version': { Version: '1', Components: [] },
      '/info': { Runtimes: { runc: {}, runsc: {} }, MemoryLimit: true, PidsLimit: true, CpuCfsQuota: true },
    };
    const daemon = createHttpServer(({ url = '' }, response) => response.end(JSON.stringify(answers[url])));
    await new Promise<void>((settle) => daemon.listen(0, '127.0.0.1', settle));
    const host = `tcp://127.0.0.1:${(daemon.address() as { port: number }).port}`;
    const runtime = 'containers.runtime=nope';
    const [made, absent] = [await madeRun(), 'unix:///nowhere.sock'];
    const train = ['train', '--model', file('none'), ...store];
    const noModel = /^error: \S*none: no such folder/m;
    for (const [argv, DOCKER_HOST, line] of [
      [[...train, '--set', 'limits.memoryMb=31'], host, /^error: limits\.memoryMb: must be at least 32, .*BAD_CONFIG/],
      [[...train, '--set', 'limits.memoryMb=32'], host, noModel],
      [
        [...train, '--set', runtime],
        host,
        /^error: this Docker daemon has no runtime 'nope' \(installed: runc, runsc\)/,
      ],
      [[...train, '--set', 'containers.runtime=runsc'], host, noModel],
      [[...train, '--set', runtime], absent, noModel], // a daemon may start later
      [[...train, '--set', runtime, '--sandbox', 'wasm'], absent, /^error: runtime 'nope' requires --sandbox docker/],
      [
        [...train, '--set', 'containers.isolation=strict', '--sandbox', 'wasm'],
        host,
        /^error: isolation 'strict' requires/,
      ],
      [
        ['fork', 'made/best', 'f', '--store', made.folder, '--set', runtime],
        host,
        /^error: this Docker daemon has no runtime/,
      ],
      [['schedule', 'create', 'n', ...store, '--set', runtime], host, /^error: this Docker daemon has no runtime/],
    ] as const) {
      const { code, err } = await withEnvironment({ DOCKER_HOST, TEMPORAL_ADDRESS: undefined }, ...argv);
      assert.match(err, line, argv.join(' '));
      assert.notEqual(code, 0);
    }
    daemon.close();
    assert.equal(existsSync(file('store')), false);
    assert.equal(existsSync(join(made.folder, 'temporal.json')), false);
  });
  it('warns about small splits, and about problems that a shipped model does not know', async () => {
    const write = (count: number, description: string) =>
      Array.from({ length: count }, (_, i) => ({
        id: `p${i}`,
        description,
        function_signature: 'def f(x):',
        reference_solution: 'x',
        baseline_tests: ['f(1) == 1'],
      }));
    const known = 'Return the sum of the numbers in nums that are even, squared.';
    const place = await temporaryFolder({
      'known.json': JSON.stringify(write(200, known)),
      'few.json': JSON.stringify(write(12, known)),
      'other.json': JSON.stringify(write(200, 'Turn a title into a slug: words joined by dashes.')),
    });
    const few = /^validation has \d problems?, test has \d problems?: figures of so few say little$/m;
    const family = /^model 'tiny' was made for the problems 'tiny' and solves few others: .*$/m;
    const rollouts = 'rollouts={"endpoint":"http://gpu:8000","adapters":"/shared"}'; // refused before anything starts
    for (const [problems, model, warnings] of [
      ['known.json', 'tiny', []],
      ['few.json', 'tiny', [few]],
      ['other.json', 'tiny', [family]],
      ['other.json', shippedModelPath('tiny'), []], // any other model
      ['tiny', 'tiny', []],
      ['steps', 'tiny', [family]],
    ] as const) {
      const from = problems.includes('.') ? join(place, problems) : problems;
      const argv = ['train', '--problems', from, '--model', model, '--set', rollouts, '--store', join(place, 's')];
      const { err } = await inProcess(...argv);
      assert.equal(err.trim().split('\n').length, warnings.length + 1, err);
      for (const warning of warnings) assert.match(err, warning);
    }
  });
  it('refuses an unknown field in a configuration', () =>
    refuses(
      ['train', '--config', file('field.json'), ...store],
      /ppo\.learningrate: no such field; known: .*BAD_CONFIG/,
    ));
  it('refuses a configuration file that does not exist', () =>
    refuses(['train', '--config', file('none.json'), ...store], /none\.json: cannot be read \(ENOENT\)/));
  it('refuses a configuration that is too large for a server', async () => {
    writeFileSync(file('large.json'), JSON.stringify({ templateArguments: { text: 'x'.repeat(1e6) } }));
    const message = /^error: templateArguments: the configuration has more than 1000000 bytes \[BAD_CONFIG\]\n$/;
    await refuses(['train', '--config', file('large.json'), ...store], message);
  });
  it('refuses --set without a field name', () =>
    refuses(['train', '--set', '=1', ...store], /--set =1: write field=value/));
  it('refuses a value that is out of range', () =>
    refuses(['demo', '--set', 'testsPerTurn=9', ...store], /testsPerTurn: .*BAD_CONFIG/));
  it('refuses a seed that is not a number', () =>
    refuses(['demo', '--seed', 'x', ...store], /'--seed <n>' argument 'x' is invalid\. It is not a whole number/));
  it('refuses a run id that leads out of the store', () => refuses(['train', '../x', ...store], /run id "\.\.\/x"/));
  for (const command of ['train --problems', 'show --model tiny --problems'])
    it(`refuses a problem file with a missing field (${command})`, () =>
      refuses(
        [...command.split(' '), file('problems.json'), ...store],
        /problems\.json: no record can be used; the first: problem 1: missing field `function_signature` \[BAD_INPUT\]/,
      ));
  it('refuses to train on problems without references, and names the ways out', () =>
    refuses(
      ['train', '--problems', file('unsolved.json'), ...store],
      /unsolved\.json: every problem has no reference solution: give one with --references, or train with --set reference=none/,
    ));
  it('names a bad problem in `solve` and skips it', async () => {
    const good = { id: 'b', description: 'b', function_signature: 'def f(x):', baseline_tests: [] };
    const records = [
      { ...good, reference_solution: 'x' },
      { ...good, id: 'a\u001b', reference_solution: ' ' },
    ];
    const mixed = await temporaryFolder({ 'mixed.json': JSON.stringify(records) });
    const { code, err } = await inProcess('solve', join(mixed, 'mixed.json'), '--store', mixed);
    const [skipped, next] = err.trim().split('\n');
    assert.equal(skipped, 'skipped a: problem 2: field `id`: must be one line of at most 200 printable characters');
    assert.match(next!, /no run in .*: start one with npx gauntlet demo/);
    assert.equal(code, 2);
  });
  it('names the problems that `train` cannot measure', async () => {
    const good = { description: 'b', function_signature: 'def f(x):', reference_solution: 'x' };
    const records = [
      { ...good, id: 'a', baseline_tests: [] },
      { ...good, id: 'b', baseline_tests: ['f(1) == 1'] },
      { ...good, id: 'c', baseline_tests: [], test_source: 'assert f(1)' },
    ];
    const place = await temporaryFolder({ 'some.json': JSON.stringify(records) });
    const given = ['--problems', join(place, 'some.json'), '--model', join(place, 'none')];
    const { code, err } = await inProcess('train', ...given, '--store', place);
    assert.match(err, /^1 problem without tests: no program counts as a solution\n/);
    assert.equal(code, 2);
  });
  it('refuses a problem file that does not exist', () =>
    refuses(['solve', file('none.json'), ...store], /none\.json: no such file/));
  it('refuses a model folder without a tokenizer if the command needs text', async () => {
    const model = file('model');
    await cp(shippedModelPath('tiny'), model, { recursive: true });
    await rm(join(model, 'tokenizer.json'));
    await refuses(['train', '--model', model, ...store], /model: no tokenizer\.json; .* \[BAD_MODEL\]/);
    await refuses(['show', '--model', model, ...store], /no tokenizer\.json/);
  });
  it('refuses prompts of the shipped model with another model, before a server starts', async () => {
    const model = join(await temporaryFolder({ 'm/note': '' }), 'm');
    await cp(shippedModelPath('tiny'), model, { recursive: true });
    const path = join(model, 'tokenizer.json');
    await writeFile(path, (await readFile(path, 'utf8')).replaceAll('<gen>', '<other>'));
    await refuses(
      ['train', '--model', model, ...store],
      /prompts: 'tiny' is for the shipped model, not for .*instruct/,
    );
  });
  it('refuses a preset whose model is missing, and a model folder that does not exist', async () => {
    const { code, err } = await withEnvironment(
      { HF_HUB_OFFLINE: '1' },
      'train',
      '--preset',
      'qwen-1.5b',
      '--problems',
      'tiny',
      ...store,
    );
    assert.match(err, /Qwen\/\S+: not in the Hugging Face cache .*, and HF_HUB_OFFLINE forbids downloads; .*BAD_MODEL/);
    assert.equal(code, 2);
    await refuses(['train', '--model', file('none'), ...store], /none: no such folder; name one with --model/);
  });
  for (const [line, answer] of [
    ['show --base tiny', '--base was renamed: write --model tiny'],
    ['evaluate --model tiny', '--problems: name the problems that tiny is measured on'],
    [
      'evaluate --model tiny --problems tiny --against base',
      '--against base: tiny is not trained; name a checkpoint or another model',
    ],
    ['evaluate --model none --problems tiny', "no run 'none' in "],
    ['evaluate --model tiny --problems tiny --against none/best', "no run 'none' in "],
    ['evaluate --model a/b/none --problems tiny', 'a/b/none: no such folder; name one with --model'],
    ['show --model tiny --quantize int2', 'Allowed choices are none, int8, int4.'],
    ...['evaluate --problems tiny', 'show', 'serve', 'train', 'model inspect'].map((command) => [
      `${command} --model Q4.gguf`,
      'Q4.gguf: no such file',
    ]),
  ] as [string, string][])
    it(`answers '${line}' in one line`, async () => {
      const place = line.startsWith('model') ? [] : store;
      const { code, err } = await inProcess(...line.split(' '), ...place);
      assert.equal(code, 2);
      assert.ok(err.includes(answer) && err.trim().split('\n').length === 1, err);
    });
  it('refuses a run that does not exist', async () => {
    const empty = await temporaryFolder({ 'runs/note': '' });
    await refuses(['report', 'none', '--store', empty], /no run 'none' in \/.*; there are: none/);
  });
  it('refuses a store without runs', async () => {
    const empty = await temporaryFolder({ 'runs/note': '' });
    await refuses(['checkpoints', 'list', '--store', empty], /no run in \/.*: start one with npx gauntlet demo/);
  });
  for (const command of [
    ...['store verify', 'checkpoints list', 'store gc', 'report a', 'replay a', 'fork a/best'],
    ...['status', 'resume a', 'pause a', 'stop a', 'set a seed=1', 'schedule list', 'schedule trigger'],
  ])
    it(`refuses a store that does not exist, and does not create it (${command})`, async () => {
      const place = file('mistyped');
      await refuses(
        [...command.split(' '), '--store', place],
        /^error: no store at \/.*\/mistyped: name another one with --store, .* \[NOT_FOUND\]$/m,
      );
      assert.equal(existsSync(place), false);
    });
  it('refuses invalid settings for a run before it contacts the server (set)', async () => {
    const { folder: place } = await madeRun();
    const set = (...fields: string[]) => ['set', 'made', ...fields, '--store', place];
    await refuses(
      set('ppo.learningrate=1'),
      /ppo\.learningrate: no such field; known: .*learningRate.* \[BAD_CONFIG\]$/m,
    );
    await refuses(set('ppo.learningRate=0'), /^error: ppo\.learningRate: .*\[BAD_CONFIG\]$/m);
    await refuses(set('budget.tokens=1e6', 'batch.generator.samples=two'), /batch\.generator\.samples: .*BAD_CONFIG/);
    await refuses(set('lora.rank=4'), /lora\.rank: cannot change during a run; these fields can: ppo, /);
    await refuses(set('=1'), /^error: =1: write field=value/);
    assert.equal(existsSync(join(place, 'temporal.db')), false);
  });
  it('refuses a backfill that ends before it starts, and an invalid time', async () => {
    const past = ['--from', '2026-01-05T00:00:00Z', '--to', '2026-01-01T00:00:00Z'];
    const place = await temporaryFolder({ 'runs/note': '' });
    const line = /2026-01-05T00:00:00.000Z to 2026-01-01T00:00:00.000Z: --to is before --from \[BAD_INPUT\]/;
    await refuses(['schedule', 'backfill', ...past, '--store', place], line);
    const odd = ['schedule', 'backfill', '--from', 'soon', '--to', 'later', '--store', place];
    await refuses(odd, /'--from <time>' argument 'soon' is invalid\. It is not a time such as 2026-/);
  });
  it('refuses to start a worker without a server', async () => {
    const place = await temporaryFolder();
    const line =
      /no Temporal server runs for this store: set TEMPORAL_ADDRESS, or .*gauntlet up.*\[SERVER_UNAVAILABLE\]$/m;
    await refuses(['worker', '--store', place], line, EXIT.unavailable);
    assert.deepEqual(await readdir(place), []);
  });
  it('refuses an unknown worker role', () =>
    refuses(
      ['worker', '--role', 'gpu,tpu', ...store],
      /'gpu,tpu' is invalid\. No role 'tpu'; roles are orchestrator, /,
    ));
  it('refuses programs with a missing field', () =>
    refuses(['sandbox', 'run', '--input', file('programs.jsonl')], /programs\.jsonl: line 1: tests: .*BAD_INPUT/));
  it('refuses an unknown command or option and suggests the most similar one', async () => {
    await refuses(['tain'], /unknown command 'tain' \(Did you mean train\?\)/);
    await refuses(['train', '--sed', '1'], /unknown option '--sed' \(Did you mean/);
    await refuses(['demo', '--sandbox', 'chroot'], /'chroot' is invalid\. Allowed choices are auto, docker, wasm/);
  });

  it('refuses a damaged checkpoint', async () => {
    const made = await madeRun();
    await made.store.writeRunFile(
      'made',
      'checkpoints/checkpoint_stage_1_epoch_1/generator/adapter_model.safetensors',
      'x',
    );
    await refuses(
      ['show', 'made/best', '--store', made.folder],
      /checkpoint_stage_1_epoch_1 is refused: generator\/adapter_model\.safetensors is damaged .*\[BAD_CHECKPOINT\]/,
      EXIT.failed,
    );
  });

  it('starts no server and writes no run in any of these cases', () => {
    assert.ok(!existsSync(join(folder, 'store', 'temporal.db')));
    assert.ok(!existsSync(join(folder, 'store', 'runs')));
  });
});

describe('a missing prerequisite', () => {
  after(removeFolders);

  it('fails with one error if TEMPORAL_ADDRESS is unreachable', async () => {
    const env = { TEMPORAL_ADDRESS: '127.0.0.1:1', GAUNTLET_STORE: await temporaryFolder() };
    const { code, out, err } = await withEnvironment(env, 'train', '--watch', '--json');
    const { error } = JSON.parse(err) as { error: { code: string; message: string } };
    assert.equal(error.code, 'SERVER_UNAVAILABLE');
    assert.match(error.message, /^no Temporal server answers at 127\.0\.0\.1:1 \(TEMPORAL_ADDRESS\): /);
    assert.deepEqual([code, out], [EXIT.unavailable, '']);
  });

  it('makes `up` refuse a port that is in use', async function () {
    needTemporal(this);
    const taken: Server = createServer();
    await new Promise<void>((settle) => taken.listen(0, '127.0.0.1', settle));
    const { port } = taken.address() as { port: number };
    const { code, err } = await withEnvironment(
      { GAUNTLET_STORE: await temporaryFolder(), TEMPORAL_ADDRESS: undefined },
      ...['up', '--port', String(port)],
    );
    taken.close();
    assert.equal(err.trim(), `error: port ${port} is taken by another program: choose another one [PORT_TAKEN]`);
    assert.equal(code, EXIT.unavailable);
  });

  it('makes --sandbox docker fail if Docker does not answer', async () => {
    const folder = await temporaryFolder({
      'a.jsonl': '{"id":"a","code":"def f(): return 1","entry":"f","tests":[[[],1]]}',
    });
    const { code, out, err } = await withEnvironment(
      { DOCKER_HOST: `unix://${folder}/none.sock` },
      ...['sandbox', 'run', '--sandbox', 'docker', '--input', join(folder, 'a.jsonl')],
    );
    assert.match(err.trim(), /^error: Docker does not answer at unix:\S+ \(.*\) \[SANDBOX_UNAVAILABLE\]$/);
    assert.deepEqual([code, out], [EXIT.unavailable, '']);
  });
});

describe('the values of options', () => {
  it('are nested, parsed as JSON, or taken as text (--set)', () => {
    assert.deepEqual(parseAssignments(['a.b=1', 'a.c=[1,2]', 'd=x=y', 'a.b=2', 'e=true']), {
      a: { b: 2, c: [1, 2] },
      d: 'x=y',
      e: true,
    });
    for (const bad of ['a', '=1', 'a..b=1', '.a=1']) assert.throws(() => parseAssignments([bad]), /write field=value/);
  });

  it('may be scalars, but not lists (--template-argument)', () => {
    assert.deepEqual(readTemplateArguments(['thinks=false', 'style=short']), { thinks: false, style: 'short' });
    assert.throws(
      () => readTemplateArguments(['thinks']),
      /^GauntletError: --template-argument thinks: write field=value/,
    );
    assert.throws(() => readTemplateArguments(['tools=[]']), /templateArguments\.tools: must be a string, a number/);
  });

  it('are passed on as limits only if they are given, and each bad limit is named', () => {
    const read = (...argv: string[]) => {
      const command = withLimits(new Command().exitOverride().configureOutput({ writeErr: () => undefined }), {
        wallSeconds: 30,
      });
      assert.match(
        command.helpInformation(),
        /--wall-seconds <n> +wall-clock time of a program, in seconds\s+\(default: 30\)/,
      );
      return limitsOf(command.parse(argv, { from: 'user' }).opts());
    };
    assert.deepEqual(read(), {});
    assert.deepEqual(read('--cpu-seconds', '0.5', '--memory-mb', '64'), { cpuSeconds: 0.5, memoryMb: 64 });
    for (const [flag, value] of [
      ['--case-cpu-seconds', '0'],
      ['--wall-seconds', 'x'],
      ['--memory-mb', '1.5'],
    ] as const)
      assert.throws(() => read(flag, value), { message: new RegExp(`option '${flag} <n>' argument '.*' is invalid`) });
  });

  it('override the file, and --set changes one field of a nested object', async () => {
    const folder = await temporaryFolder({
      'c.json': '{"seed": 3, "ppo": {"clip": 0.3, "epochs": 1}, "preset": "custom"}',
    });
    const flags = { config: join(folder, 'c.json'), seed: 5, preset: 'tiny', set: ['ppo.epochs=4'] };
    assert.deepEqual(await readConfig(flags), { seed: 5, preset: 'tiny', ppo: { clip: 0.3, epochs: 4 } });
    await removeFolders();
  });

  it('choose a checkpoint, a model, or a checkpoint on another base (--model)', async () => {
    const { store } = await madeRun();
    const name = 'checkpoint_stage_1_epoch_1';
    const checkpoint = { runId: 'made', name };
    const folder = shippedModelPath('nested');
    const chosen = async (named: string | undefined, flags: object) =>
      (await chooseModel(store, named, { templateArgument: [], ...flags })).input;
    for (const [named, flags, input] of [
      [undefined, {}, { checkpoint }],
      [undefined, { model: 'made' }, { checkpoint }],
      [undefined, { model: 'made/latest' }, { checkpoint }],
      [undefined, { model: 'tiny' }, { model: 'tiny' }],
      [undefined, { model: folder, quantize: 'int4' }, { model: folder, quantization: 'int4' }],
      ['made/best', { model: 'tiny' }, { checkpoint, model: 'tiny' }],
    ] as const)
      assert.deepEqual(JSON.parse(JSON.stringify(await chosen(named, flags))), input);
    await assert.rejects(chosen('made', { quantize: 'int8' }), /--quantize int8: made\/\S+ has the weights/);
    await removeFolders();
  });

  it('set the engine, and arguments of the chat template (--device, --quantize, --template-argument)', async () => {
    const folder = await temporaryFolder({ 'c.json': '{"engine": {"device": "cuda", "shards": 2}}' });
    const flags = { config: join(folder, 'c.json'), templateArgument: ['enable_thinking=false'], set: [] };
    const { engine, templateArguments } = await readConfig({ ...flags, device: 'auto', quantize: 'int8' });
    assert.deepEqual(engine, { device: 'auto', quantization: 'int8', shards: 2 });
    assert.deepEqual(templateArguments, { enable_thinking: false });
    await removeFolders();
  });

  it('are read from gauntlet.config.json in the working directory unless --config names another file', async () => {
    const folder = await temporaryFolder({
      'gauntlet.config.json': '{"$schema": "./schema.json", "seed": 7}',
      'other.json': '{"seed": 8}',
    });
    const root = process.cwd();
    process.chdir(folder);
    try {
      assert.deepEqual(await readConfig({ set: [] }), { seed: 7 });
      assert.deepEqual(await readConfig({ config: 'other.json', set: [] }), { seed: 8 });
    } finally {
      process.chdir(root);
      await removeFolders();
    }
  });

  it('become absolute if they are paths', async () => {
    const { model } = await readConfig({ model: 'data/tiny-model', set: [] });
    assert.equal(model, shippedModelPath('tiny'));
  });

  it('are parsed strictly if they are numbers', () => {
    assert.equal(integer(1)('12'), 12);
    for (const bad of ['0', '1.5', '', ' ', 'x', '-3', '1e99'])
      assert.throws(() => integer(1)(bad), /not a whole number of at least 1/);
    const share = number({ above: 0, to: 1 });
    assert.equal(share('0.5'), 0.5);
    for (const bad of ['0', '2', '', 'warm', 'Infinity'])
      assert.throws(() => share(bad), /not a number above 0 and at most 1/);
  });

  it('are sorted without duplicates, and `all` means every role (--role)', () => {
    assert.deepEqual(parseRoles('cpu, gpu,cpu'), ['gpu', 'cpu']);
    assert.deepEqual(parseRoles('all'), ['orchestrator', 'gpu', 'sandbox', 'cpu']);
  });

  it('are equal for two spellings of one configuration', () => {
    assert.deepEqual(differingFields(undefined, { preset: 'tiny', seed: 0 }), []);
    assert.deepEqual(differingFields({ seed: 1 }, { seed: 2, ppo: { clip: 0.1 } }), ['ppo', 'seed']);
    const rollouts = { endpoint: 'http://127.0.0.1:8000', adapters: '/adapters' };
    assert.deepEqual(differingFields({ rollouts }, {}), ['rollouts']);
    assert.deepEqual(differingFields({}, { rollouts }), ['rollouts']);
  });

  it('become absolute in a configuration if they are paths, but not if they are names', () => {
    assert.deepEqual(withPaths({ problems: 'own.jsonl', model: './base', discriminator: { model: 'other/model/x' } }), {
      problems: resolve('own.jsonl'),
      model: resolve('base'),
      discriminator: { model: resolve('other/model/x') },
    });
    const named = { problems: 'steps:1-2', model: 'Qwen/Qwen3-0.6B', discriminator: { model: null }, seed: 1 };
    assert.deepEqual(withPaths(named), named);
    assert.deepEqual(withPaths({}), {});
  });

  it('are quoted for the shell if a suggested command names a store', () => {
    const lines = ['runs', 's3://bucket/a-b', 'my runs', "it's", 's3://b/p?endpoint=x&y'].map((store) => {
      useStore(store);
      return commandLine('status');
    });
    useStore();
    const given = lines.map((line) => line.replace('npx gauntlet status --store ', ''));
    assert.deepEqual(given, ['runs', 's3://bucket/a-b', "'my runs'", "'it'\\''s'", "'s3://b/p?endpoint=x&y'"]);
  });
});

// infra/gauntlet.service brings `up` back after kill -9, and the run goes on. A test machine has no systemd to start it, so a
// small supervisor follows the fields of the unit.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../../infra/root.mjs';
import { needTemporal } from '../workflows/server.js';
import { runNode, temporaryFolder } from './support.js';

const UNIT = join(ROOT, 'infra', 'gauntlet.service');
const fields = new Map(
  readFileSync(UNIT, 'utf8')
    .split('\n')
    .filter((line) => /^\w+=/.test(line))
    .map((line): [string, string] => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
);
const field = (name: string): string => fields.get(name) ?? assert.fail(`the unit has no ${name}`);

/** Starts the command of the unit, and starts it again whenever systemd would. */
class Supervisor {
  readonly exits: (number | string | null)[] = [];
  main!: ChildProcess;
  output = '';
  readonly ended: Promise<void>;
  private stopping = false;

  constructor(
    private readonly command: string[],
    private readonly env: NodeJS.ProcessEnv,
  ) {
    this.ended = this.supervise();
  }

  private async supervise(): Promise<void> {
    assert.equal(field('Restart'), 'always');
    for (;;) {
      const [program, ...words] = this.command;
      this.main = spawn(program!, words, { cwd: ROOT, env: this.env, stdio: ['ignore', 'pipe', 'pipe'] });
      for (const stream of [this.main.stdout!, this.main.stderr!]) stream.on('data', (text) => (this.output += text));
      const [code, signal] = (await once(this.main, 'exit')) as [number | null, string | null];
      this.exits.push(code ?? signal);
      if (this.stopping || String(code) === field('RestartPreventExitStatus')) return;
      await sleep(1000 * Number(field('RestartSec')));
    }
  }

  /** The signal goes to the main process alone, as with KillMode=mixed. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.main.kill('SIGTERM');
    const late = sleep(1000 * Number(field('TimeoutStopSec')), 'late', { ref: false });
    assert.notEqual(await Promise.race([this.ended, late]), 'late', this.output);
  }
}

const TINY_RUN = [
  ...['stages=[5]', 'schedule.stages=[5]', 'schedule.generatorSteps=4', 'schedule.discriminatorSteps=0'],
  ...['schedule.alternatingSteps=0', 'evaluation.problems=4', 'evaluation.testProblems=4', 'sandbox=wasm'],
].flatMap((assignment) => ['--set', assignment]);

describe('the systemd unit of `up`', () => {
  const store = temporaryFolder();
  const env = {
    ...process.env,
    GAUNTLET_STORE: store,
    TEMPORAL_ADDRESS: undefined,
    NO_COLOR: '1',
  } as NodeJS.ProcessEnv;
  const gauntlet = (...words: string[]) => runNode([join(ROOT, 'bin', 'gauntlet.mjs'), ...words], { env });
  const started: Supervisor[] = [];

  before(function () {
    needTemporal(this);
  });
  after(async () => {
    for (const { main } of started) if (main.exitCode === null) main.kill('SIGKILL');
  });

  const supervise = (...replaced: [string, string][]): Supervisor => {
    const command = field('ExecStart').split(' ');
    const words = replaced.reduce((all, [from, to]) => all.map((word) => (word === from ? to : word)), command);
    const supervisor = new Supervisor(words, env);
    started.push(supervisor);
    return supervisor;
  };
  const until = async (what: string, holds: () => boolean, service: Supervisor): Promise<void> => {
    for (const limit = Date.now() + 150_000; !holds(); await sleep(50))
      assert.ok(Date.now() < limit, `${what}\n${service.output}`);
  };
  const server = (): { pid: number; port: number } => JSON.parse(readFileSync(join(store, 'temporal.json'), 'utf8'));

  it('is accepted by systemd', function () {
    const folder = temporaryFolder();
    const verified = spawnSync('systemd-analyze', ['--user', 'verify', UNIT], {
      encoding: 'utf8',
      env: { ...process.env, XDG_RUNTIME_DIR: folder, HOME: folder },
    });
    if (verified.error) return this.skip(); // this machine has no systemd
    assert.deepEqual([verified.status, verified.stderr], [0, '']);
  });

  it('comes back after kill -9 at the same port, also if it is killed while it starts, and the run goes on', async () => {
    const port = await freePort();
    const service = supervise(['7233', String(port)]);
    await until('the first start', () => service.output.includes('ready'), service);
    const first = server();
    const { code, text } = await gauntlet('train', 'first', ...TINY_RUN);
    assert.equal(code, 0, text);
    const steps = join(store, 'runs', 'first', 'metrics');
    const done = () => (existsSync(steps) ? readdirSync(steps).filter((name) => /^0*[1-9]\d*\.json$/.test(name)) : []);
    await until('a step', () => done().length > 0, service);
    service.main.kill('SIGKILL');
    const result = join(store, 'runs', 'first', 'result.json');
    assert.equal(existsSync(result), false, 'the run has not ended');
    await until('the second start', () => existsSync(join(store, 'temporal.lock')), service);
    service.main.kill('SIGKILL'); // while it holds the lock
    await until('the end of the run', () => existsSync(result), service);
    assert.deepEqual(service.exits, ['SIGKILL', 'SIGKILL']);
    assert.deepEqual([server().port, server().pid === first.pid], [port, false], 'another server at the same port');
    await service.stop();
    assert.deepEqual(service.exits, ['SIGKILL', 'SIGKILL', 0]);
  });

  it('starts again if something is missing, but not after a wrong option', async () => {
    const wrong = supervise(['--port', '--prt']);
    await wrong.ended;
    assert.deepEqual(wrong.exits, [2]);
    const port = await freePort();
    env.TEMPORAL_CLI = join(store, 'none');
    const missing = supervise(['7233', String(port)]);
    await until('two starts', () => missing.exits.length > 1, missing);
    await missing.stop();
    assert.equal(missing.exits[0], 3, missing.output);
  });
});

/** A port that no other test asks for, unlike Temporal's own. */
async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

// A short demo in its own process: live progress, Ctrl-C, continuing, and one line of JSON at the end.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../../cli/terminal/exitCodes.js';
import { runResultSchema } from '../../core/schema/run.js';
import { type Environment, gauntlet, inProcess, removeFolders, temporaryFolder } from './support.js';

const SHORT = [
  ...['--set', 'schedule={"stages":[1],"discriminatorSteps":1,"generatorSteps":2,"alternatingSteps":0}'],
  ...['--set', 'batch={"generator":{"problems":2,"samples":4},"discriminator":{"problems":2,"samples":4}}'],
  ...['--set', 'evaluation={"problems":3,"testProblems":4}', '--sandbox', 'wasm'],
];

/** The command lines of other processes that name this folder: servers, guards and workers. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    })
    .filter((line) => line.includes(folder));
}

describe('a short demo', () => {
  let folder: string;
  let env: Environment;

  before(async () => {
    folder = await temporaryFolder();
    env = { GAUNTLET_STORE: folder, GAUNTLET_THREADS: '1' };
  });
  after(removeFolders);

  it('stops its server, workers and sandbox at the first Ctrl-C, and names the command that continues the run', async () => {
    let asked = 0;
    const left = await gauntlet(['demo', ...SHORT], env, (text, pid) => {
      if (asked === 0 && /step 1\/3/.test(text)) {
        asked = Date.now();
        process.kill(pid, 'SIGINT');
      }
    });
    assert.equal(left.code, EXIT.interrupted, left.err);
    assert.ok(asked > 0);
    assert.match(
      left.err,
      /stopped watching 'demo-seed-0', ending its workers; continue with: npx gauntlet demo --sandbox wasm --set 'schedule=/,
    );
    assert.equal(left.out, '');
    assert.deepEqual(processesOf(folder), []);
  });

  it('continues, prints a line per step, and ends with one line of JSON', async () => {
    const ended = await gauntlet(['demo', '--json', ...SHORT], env);
    assert.equal(ended.code, 0, ended.err);
    assert.match(ended.err, /joined run 'demo-seed-0'/);
    assert.match(ended.err, /step [12]\/3 · stage 1 generator · reward/);
    assert.match(ended.err, /step 3\/3 · completed/);
    assert.equal(ended.out.trim().split('\n').length, 1);
    const result = runResultSchema.parse(JSON.parse(ended.out));
    assert.deepEqual([result.runId, result.seed], ['demo-seed-0', 0]);
    assert.ok(result.report && existsSync(result.report));
    assert.ok(existsSync(join(folder, 'runs', 'demo-seed-0', 'chain.json')));
    assert.deepEqual(processesOf(folder), []);
  });

  it('shows the table, a chain, the best checkpoint, the report and the Web UI when it has finished', async () => {
    const { code, out, err } = await gauntlet(['demo', ...SHORT], env);
    assert.equal(code, 0, err);
    for (const part of ['held-out problems', 'pass rate (greedy)', 'stage 5 · executable code', 'generator reward'])
      assert.ok(out.includes(part), part);
    const best = /best checkpoint {2}(.*)/.exec(out)![1]!;
    assert.ok(existsSync(join(best, 'generator', 'adapter_model.safetensors')));
    assert.ok(existsSync(/report {2,}(.*)/.exec(out)![1]!));
    assert.match(out, /Temporal UI {2,}http:\/\/127\.0\.0\.1:\d+/);
  });

  it('appears in status without a server, and its id is refused for another configuration', async () => {
    const here = (...argv: string[]) => inProcess(...argv, '--store', folder);
    const known = await here('status', '--json');
    const [{ started, ...stored }] = JSON.parse(known.out);
    assert.deepEqual(stored, { id: 'demo-seed-0', status: 'ONLY IN THE STORE', finished: true });
    assert.ok(Date.parse(started) <= Date.now());
    assert.match(
      known.err,
      /no Temporal server runs: this is what the store knows \(start a server: npx gauntlet up --store /,
    );
    assert.deepEqual(processesOf(folder), [], 'status starts no server');
    const refused = await here('train', 'demo-seed-0', '--set', 'ppo.clip=0.1');
    assert.match(refused.err, /run demo-seed-0 exists with other .*ppo.*: choose another run id \[RUN_EXISTS\]/);
    assert.equal(refused.code, EXIT.usage);
    const queued = await here('train', 'other', '--set', 'ppo.clip=0.1', '--json');
    const next = `npx gauntlet resume other --watch --store ${folder}`;
    assert.deepEqual(JSON.parse(queued.out), { runId: 'other', how: 'started', served: false, next });
    assert.match(
      (await here('train', 'other', '--set', 'ppo.clip=0.1')).out,
      /^no worker serves run 'other'.*: npx .*\n.*up --store .*$/m,
    );
    const unknown = await here('resume', 'nobody');
    assert.match(unknown.err.trim(), /^error: no run 'nobody' on this server or in .*; .*\[NOT_FOUND\]$/);
  });
});

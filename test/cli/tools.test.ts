// Commands about this machine: doctor and the Temporal CLI.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { isPolling, mayLive } from '../../cli/run/session.js';
import { EXIT } from '../../cli/terminal/exitCodes.js';
import { isSupportedNode } from '../../infra/node-version.mjs';
import { PLACE } from '../../infra/place.mjs';
import { openStore } from '../../store/openStore.js';
import { program } from '../infra/support.js';
import { type Environment, gauntlet, inProcess, removeFolders, temporaryFolder, withEnvironment } from './support.js';

describe('commands about this machine', () => {
  after(removeFolders);

  it('report everything as found, explain why Docker is missing, and create no store (doctor)', async () => {
    const store = join(await temporaryFolder(), 'mistyped');
    const env = { DOCKER_HOST: 'unix:///nowhere.sock', GAUNTLET_MEMORY: '1GiB' };
    const { code, out } = await withEnvironment(env, 'doctor', '--json', '--store', store);
    const { healthy, findings } = JSON.parse(out) as {
      healthy: boolean;
      findings: { name: string; ok: boolean; required: boolean; detail: string }[];
    };
    const of = (name: string) => findings.find((finding) => finding.name === name)!;
    assert.ok(healthy && code === 0, out);
    assert.ok(findings.filter(({ required }) => required).every(({ ok }) => ok));
    assert.match(of('tiny model').detail, /^Qwen2ForCausalLM, 0\.\d+ M parameters$/);
    assert.match(of('memory').detail, /^a worker may use 1\.0 GiB \(GAUNTLET_MEMORY\); this command uses \d+\.\d GiB$/);
    assert.match(of('store').detail, /mistyped \(does not exist yet, the first run creates it\)/);
    assert.equal(existsSync(store), false);
    assert.match(of('onnx runtime').detail, /^providers installed: cpu/);
    const { required, ok, detail } = of('device cuda');
    assert.equal(required, false);
    assert.match(
      detail,
      ok ? /works: / : /^no NVIDIA driver answers|(is not installed|cannot be used).*use cpu.*DEVICE_UNAVAILABLE/,
    );
    assert.deepEqual([of('sandbox docker').ok, of('sandbox docker').required], [false, false]);
    assert.match(of('sandbox docker').detail, /Docker does not answer .*SANDBOX_UNAVAILABLE/);
  });

  it('exit with 1 and name each required thing that is missing (doctor)', async () => {
    const folder = await temporaryFolder({ file: '', 'temporal.toml': '[profile.mine]\naddress = "127.0.0.1:1"\n' });
    const env = {
      DOCKER_HOST: 'unix:///nowhere.sock',
      GAUNTLET_MEMORY: 'plenty',
      TEMPORAL_ADDRESS: undefined,
      TEMPORAL_CONFIG_FILE: join(folder, 'temporal.toml'),
      TEMPORAL_PROFILE: 'mine',
    };
    const { code, out } = await withEnvironment(env, 'doctor', '--store', join(folder, 'file', 'store'));
    assert.equal(code, EXIT.failed);
    assert.match(out, /✗ memory .*GAUNTLET_MEMORY must be at least 500MB, .* is "plenty"/);
    assert.match(out, /✗ store .*ENOTDIR/);
    assert.match(out, /✗ temporal server .*127\.0\.0\.1:1 \(profile mine.*SERVER_UNAVAILABLE/);
  });

  it('accept the Node versions that package.json names (doctor)', () => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
    assert.equal(engines.node, '^20.19.0 || >=22.12.0');
    const ci = parse(readFileSync('.github/workflows/ci.yml', 'utf8')) as {
      jobs: { test: { strategy: { matrix: { node: number[] } }; steps: { run?: string }[] } };
    };
    const { strategy, steps } = ci.jobs.test;
    assert.deepEqual(strategy.matrix.node, [20, 22, 24], 'hosted CI runs each supported line');
    for (const command of ['npm test -- --lane fast --lane system --lane lab --lane bare', 'npm run demo'])
      assert.ok(
        steps.some(({ run }) => run === command),
        command,
      );
    for (const good of ['20.19.0', '20.20.2', '22.12.0', '23.0.0', '24.0.1']) assert.ok(isSupportedNode(good), good);
    for (const bad of ['18.20.0', '20.0.0', '20.18.3', '21.7.0', '22.11.0']) assert.ok(!isSupportedNode(bad), bad);
  });

  it('name an option that has no effect', async () => {
    const folder = await temporaryFolder();
    await (await openStore(folder)).putJson({});
    const noted = async (...argv: string[]) => (await inProcess(...argv, '--store', folder)).err;
    assert.match(await noted('status', '--watch'), /--watch: without effect, because no run is named/);
    assert.match(await noted('replay', 'r', '--sandbox', 'wasm'), /--sandbox: without effect, because only --execute/);
  });

  it('pass arguments and the exit code through (temporal)', async () => {
    const folder = await temporaryFolder();
    const cli = program(
      folder,
      'cli',
      `echo "$# $@ at $TEMPORAL_ADDRESS" > '${folder}/said'; [ $SHOW ] && cat '${folder}/said'; exit 7`,
    );
    const env = { TEMPORAL_CLI: cli, GAUNTLET_STORE: folder, TEMPORAL_ADDRESS: 'host:1' };
    const passed = await gauntlet(['temporal', 'workflow', 'list', '--help', '--limit', '2'], { ...env, SHOW: '1' });
    assert.deepEqual([passed.code, passed.out.trim()], [7, '5 workflow list --help --limit 2 at host:1']);
    const said = () => readFileSync(join(folder, 'said'), 'utf8').trim();
    const temporal = (variables: Environment, ...argv: string[]) =>
      withEnvironment({ ...env, ...variables }, 'temporal', ...argv);
    const unknown = { TEMPORAL_ADDRESS: undefined };
    const { err } = await temporal(unknown, 'workflow', 'list');
    assert.match(err, new RegExp(`^no Temporal server runs for ${folder}: start one with npx gauntlet up\n$`));
    for (const given of [
      ['--store', 'other', 'workflow', 'list'],
      ['workflow', '--store=other', 'list'],
    ]) {
      const other = await temporal(unknown, ...given);
      assert.equal(said(), '2 workflow list at', 'the Temporal CLI has no --store');
      assert.match(
        other.err,
        /^no Temporal server runs for \/.*\/other: start one with npx gauntlet up --store other\n$/,
      );
    }
    await temporal({}, 'workflow', 'list', '--', '--store', 'x');
    assert.equal(said(), '5 workflow list -- --store x at host:1');
    assert.match(
      (await temporal({}, 'workflow', 'list', '--store')).err,
      /--store: name the folder or bucket of a store/,
    );
    const both = await temporal({ TEMPORAL_PROFILE: 'prod' }, 'workflow', 'list');
    assert.match(both.err, /TEMPORAL_ADDRESS is set beside TEMPORAL_PROFILE/);
  });
});

describe('the functions mayLive and isPolling', () => {
  it('treat a poller of a local process that has ended as dead', () => {
    assert.ok(!mayLive(`999999999@${PLACE}`));
    assert.ok(mayLive(`${process.ppid}@${PLACE}`));
    assert.ok(mayLive('1@elsewhere') && mayLive('a name of its own'));
    assert.ok(!mayLive(`${process.pid}@${PLACE}`), 'this process has none yet');
    const polled = (ago: number): boolean => isPolling({ polledAt: 1000 - ago, identity: '1@elsewhere' }, 1000);
    assert.deepEqual([polled(1), polled(62), polled(100)], [true, true, false], 'idle for a minute is alive');
  });
});

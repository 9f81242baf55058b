// The metrics that workers serve for Prometheus, and the alerts and the dashboard that use them.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { EXIT } from '../../cli/terminal/exitCodes.js';
import { ALARM_KINDS } from '../../core/run/alarms.js';
import type { RunProgress } from '../../core/schema/run.js';
import { choosePorts } from '../../infra/ports.js';
import { scriptArguments } from '../../infra/scripts.js';
import { memoryBudget } from '../../ml/engine/budget.js';
import { gauntlet, inProcess } from '../cli/support.js';
import { SKILLED_RANK, TINIEST_RUN } from '../support/doubles.js';
import { findable, needTemporal, startRun, startServer, type TestServer } from '../workflows/server.js';

interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const LINE = /^([a-z_]+)(?:\{(.*)\})? (-?[\d.]+(?:e[+-]?\d+)?)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of a page in Prometheus's text format. A line that is neither a sample nor a comment is an error. */
async function scrape(address: string): Promise<Sample[]> {
  const response = await fetch(`http://${address}/metrics`);
  assert.match(response.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('# '));
  return lines.map((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? assert.fail(line);
    const pairs = [...labels!.matchAll(LABEL)].map(([, key, text]) => [key, text]);
    return { name: name!, labels: Object.fromEntries(pairs), value: Number(value) };
  });
}

/** The same samples once the worker polls. A worker reports a queue shortly before its first poll. */
async function scrapeAfterPoll(address: string): Promise<Sample[]> {
  for (;;) {
    const samples = await scrape(address);
    if (samples.some(({ name }) => name === 'temporal_num_pollers')) return samples;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const metricsIn = (expression: string): string[] => expression.match(/\b(?:gauntlet|temporal)_\w+/g) ?? [];
const freeAddress = async (): Promise<string> => `127.0.0.1:${(await choosePorts(0, 0)).port}`;

async function end(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null) return;
  const exit = once(worker, 'exit');
  worker.kill();
  await exit;
}

describe('metrics for Prometheus', () => {
  let host: TestServer;
  let samples: Sample[];
  const read = (name: string, labels: Record<string, string> = {}): number | undefined =>
    samples.find(
      (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )?.value;

  before(async function () {
    needTemporal(this);
    host = findable(await startServer());
    const address = await freeAddress();
    const { server } = host;
    const argv = [
      ...scriptArguments(new URL('../support/meteredWorkers.js', import.meta.url)),
      server.address,
      server.namespace,
      address,
    ];
    const worker = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(worker.stdout, 'data');
      const measured = await startRun(host.client, 'measured', TINIEST_RUN);
      const sampling = { ...TINIEST_RUN.sampling, maxNewTokens: 3, maxTestTokens: 3 };
      const cut = await startRun(host.client, 'cut', { ...TINIEST_RUN, sampling });
      const alarmed = await startRun(host.client, 'alarmed', {
        ...TINIEST_RUN,
        schedule: { stages: [5], discriminatorSteps: 5, generatorSteps: 0, alternatingSteps: 0 },
        lora: { rank: SKILLED_RANK }, // no program fails, so the reward has only one term
        reward: { scheme: 'code-a1' },
      });
      const ppo = { ...TINIEST_RUN.ppo, learningRate: 0.5, schedule: 'constant', warmupSteps: 0 };
      const waiting = await startRun(host.client, 'waiting', { ...TINIEST_RUN, ppo });
      await Promise.all([measured.result(), cut.result(), alarmed.result()]);
      while (((await waiting.query('progress')) as RunProgress).state !== 'waiting') await sleep(100);
      samples = await scrape(address);
      await waiting.executeUpdate('decide', { args: ['abort'] });
    } finally {
      await end(worker);
    }
  });
  after(() => host?.close());

  it('include the figures of the steps of a run, by run and role', () => {
    const countOf = (role: string): number => read('gauntlet_step_seconds_count', { run: 'measured', role })!;
    assert.equal(countOf('generator') + countOf('discriminator'), 3); // one step of each role, and an alternating one
    for (const role of ['generator', 'discriminator']) {
      const own = { run: 'measured', role };
      assert.ok(read('gauntlet_sampled_tokens_total', own)! > 0);
      assert.equal(read('gauntlet_step_seconds_bucket', { ...own, le: '+Inf' }), countOf(role));
      const [above, below] = [read('gauntlet_reward_above_zero', own)!, read('gauntlet_reward_below_zero', own)!];
      assert.ok(above >= 0 && below >= 0 && (above === 0 || below === 0));
      const rates = ['gauntlet_pass_rate', 'gauntlet_test_validity'].map((name) => read(name, own)!);
      for (const rate of rates) assert.ok(rate >= 0 && rate <= 1);
    }
  });

  it('include the shares of cut, empty and missing answers of each role', () => {
    for (const role of ['generator', 'discriminator']) {
      for (const name of ['gauntlet_answers_cut', 'gauntlet_answers_empty', 'gauntlet_prompts_unfit'])
        assert.equal(read(name, { run: 'measured', role }), 0, name);
      assert.equal(read('gauntlet_answers_cut', { run: 'cut', role }), 1);
    }
  });

  it('include the alarms of a run', () => {
    for (const alarm of ALARM_KINDS) assert.equal(read('gauntlet_alarm', { run: 'measured', alarm }), 0, alarm);
    assert.equal(read('gauntlet_alarm', { run: 'alarmed', alarm: 'term' }), 1);
    assert.equal(read('gauntlet_alarm', { run: 'alarmed', alarm: 'validity' }), 0);
  });

  it('say which run waits for a decision', () => {
    assert.equal(read('gauntlet_run_waiting', { run: 'waiting' }), 1);
    assert.equal(read('gauntlet_run_waiting', { run: 'measured' }), undefined);
  });

  it('include the memory of the process and its limit', () => {
    const [used, budget] = ['gauntlet_memory_bytes', 'gauntlet_memory_budget_bytes'].map((name) => read(name)!);
    assert.ok(used! > 50e6, `${used}`);
    assert.equal(budget, memoryBudget().bytes);
  });

  it('include the figures of the sandbox and of Temporal', () => {
    assert.ok(read('gauntlet_programs_total')! > 0);
    assert.equal(read('gauntlet_sandbox_faults_total'), 1);
    assert.ok(read('temporal_activity_execution_failed')! >= 1);
    for (const task_queue of ['gauntlet', 'gauntlet-gpu', 'gauntlet-sandbox', 'gauntlet-cpu'])
      assert.ok(read('temporal_num_pollers', { task_queue })! > 0, task_queue);
  });

  it('include all metrics that the alerts, the dashboard and the guide name', () => {
    const served = new Set(samples.map(({ name }) => name));
    const alerts = parse(readFileSync('infra/observability/alerts.yml', 'utf8')) as {
      groups: { rules: { expr: string }[] }[];
    };
    const dashboard = JSON.parse(readFileSync('infra/observability/grafana-dashboard.json', 'utf8')) as {
      panels: { targets: { expr: string }[] }[];
      templating: { list: { query: string }[] };
    };
    const expressions = [
      ...alerts.groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
      ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
      ...dashboard.templating.list.map(({ query }) => query),
    ];
    const used = expressions.flatMap(metricsIn);
    assert.ok(used.length > expressions.length / 2);
    for (const name of used) assert.ok(served.has(name), name);
    const guide = readFileSync('docs/how-to/monitor.md', 'utf8');
    const documented = [...guide.matchAll(/^\| `(gauntlet_\w+)`/gm)].map((match) => match[1]!);
    const own = [...served].filter((name) => name.startsWith('gauntlet_') && !/_(bucket|sum)$/.test(name));
    assert.deepEqual(documented.sort(), own.map((name) => name.replace(/_count$/, '')).sort());
  });

  it('are served by `gauntlet worker` at the port of --metrics', async () => {
    const address = await freeAddress();
    const argv = ['worker', '--role', 'cpu', '--store', host.folder, '--metrics', address.split(':')[1]!];
    let served: Promise<Sample[]> | undefined;
    const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = process.env;
    const ended = await gauntlet(argv, { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE }, (text, pid) => {
      if (!text.includes('serving cpu')) return;
      served ??= scrapeAfterPoll(address).finally(() => process.kill(pid));
    });
    assert.equal(ended.code, 0, ended.err);
    const queues = (await served)!.filter(({ name }) => name === 'temporal_num_pollers');
    assert.deepEqual([...new Set(queues.map(({ labels }) => labels.task_queue))], ['gauntlet-cpu']);
  });

  it('cannot be served at a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = process.env;
    const argv = ['worker', '--role', 'cpu', '--store', host.folder, '--metrics', String(port)];
    const { code, err } = await gauntlet(argv, { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE });
    taken.close();
    assert.match(
      err,
      new RegExp(`^error: cannot serve metrics at 127\\.0\\.0\\.1:${port}: Address already in use.*\\n$`, 'm'),
    );
    assert.notEqual(code, 0);
  });
});

describe('the option --metrics', () => {
  for (const value of ['0', '65536', 'port', 'example.com:9464', '1.2.3:80', '::1:9464', '127.0.0.1:', ':9464', '']) {
    it(`refuses '${value}' with one line`, async () => {
      const { code, err } = await inProcess('worker', '--metrics', value);
      assert.match(err, /^[^\n]*--metrics[^\n]*PORT or HOST:PORT with an IP address[^\n]*\n$/);
      assert.equal(code, EXIT.usage);
    });
  }
});

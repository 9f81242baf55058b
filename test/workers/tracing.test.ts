// One trace from a command to the model and the sandbox, as a collector receives it. The collector is a Python program with the
// official `opentelemetry-proto` package; GAUNTLET_PYTHON names a Python that has it.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createActivities } from '../../activities/index.js';
import { NODE_FLAGS } from '../../infra/scripts.js';
import { closeTracing, openTracing } from '../../workers/telemetry.js';
import { interceptors } from '../../workflows/traceContext.js';
import { gauntlet, inProcess } from '../cli/support.js';
import { NATIVE_PYTHON } from '../sandbox/native.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { findable, needTemporal, startServer, type TestServer, workersOver } from '../workflows/server.js';

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';

interface ReceivedSpan {
  name: string;
  trace: string;
  id: string;
  parent: string; // '' for the root
  service: string;
  scope: string;
  schema: string;
  failed: boolean;
  attributes: Record<string, string | number>;
}

interface Collector {
  endpoint: string;
  /** Ends the collector and returns everything that it received. */
  spans(): Promise<ReceivedSpan[]>;
  kill(): void;
}

async function startCollector(): Promise<Collector> {
  const python: ChildProcess = spawn(NATIVE_PYTHON, ['test/support/otlpCollector.py'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  python.stdout!.setEncoding('utf8').on('data', (text: string) => lines.push(text));
  await once(python.stdout!, 'data');
  return {
    endpoint: `http://127.0.0.1:${Number(lines.shift())}`,
    spans: async () => {
      python.stdin!.end();
      await once(python, 'close');
      return JSON.parse(lines.join('')) as ReceivedSpan[];
    },
    kill: () => void python.kill(),
  };
}

describe('the tracing of commands and runs', () => {
  afterEach(async () => {
    delete process.env[ENDPOINT];
    await closeTracing();
  });

  it('loads nothing without a collector, and refuses an unknown protocol', async () => {
    for (const env of [{}, { [ENDPOINT]: '' }, { [ENDPOINT]: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }])
      assert.equal(await openTracing(env), undefined);
    const script = `import { main } from '${import.meta.resolve('../../cli/main.js')}'; await main(['doctor', '--help']);
      await import('${import.meta.resolve('../../workers/start.js')}');
      const { createRequire } = await import('node:module');
      console.log(Object.keys(createRequire(import.meta.url).cache).filter((path) => /opentelemetry/.test(path)).length);`;
    const loaded = (env: NodeJS.ProcessEnv): number => {
      const argv = [...NODE_FLAGS, '--input-type=module', '-e', script];
      const out = spawnSync(process.execPath, argv, { encoding: 'utf8', env: { ...process.env, ...env } }).stdout;
      return Number(out.trim().split('\n').at(-1));
    };
    assert.equal(loaded({}), 0);
    assert.ok(loaded({ [ENDPOINT]: 'http://127.0.0.1:1' }) > 0);
    const grpc = { [ENDPOINT]: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
    await assert.rejects(openTracing(grpc), /OTEL_EXPORTER_OTLP_PROTOCOL=grpc: only http\/protobuf is supported/);
  });

  it('passes a trace on from a workflow to its activities and to the run that continues it', () => {
    const header = { '_tracer-data': { data: new Uint8Array([1]) } };
    const other = { other: { data: new Uint8Array([2]) } };
    const pass = (headers: object): unknown[] => {
      const { inbound, outbound } = interceptors();
      const seen: unknown[] = [];
      const next = (input: { headers: object }) => void seen.push(input.headers);
      inbound![0]!.execute!({ headers, args: [] } as never, next as never);
      outbound![0]!.scheduleActivity!({ headers: other } as never, next as never);
      outbound![0]!.continueAsNew!({ headers: {} } as never, next as never);
      return seen;
    };
    assert.deepEqual(pass(header), [header, { ...other, ...header }, header]);
    assert.deepEqual(pass(other), [other, other, {}]);
  });

  describe('with a collector', () => {
    let host: TestServer;
    let world: Doubles;
    let collector: Collector | undefined;

    before(async function () {
      needTemporal(this);
      if (spawnSync(NATIVE_PYTHON, ['-c', 'import opentelemetry.proto']).status !== 0) {
        console.log('      skipped: GAUNTLET_PYTHON names no Python with opentelemetry-proto');
        this.skip();
      }
      host = findable(await startServer());
      world = await doubles();
      await runPipeline(createActivities(world.deps), 'run', SMALL_RUN);
    });
    after(async () => {
      collector?.kill();
      await host?.close();
    });

    it('follows a command through the workflow and its activities to the model and the sandbox', async () => {
      collector = await startCollector();
      process.env[ENDPOINT] = collector.endpoint;
      const workers = await workersOver(host.server, world);
      const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = process.env;
      const argv = ['evaluate', 'run', '--samples', '2', '--store', world.folder];
      const ended = await gauntlet(argv, { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, [ENDPOINT]: collector.endpoint });
      await workers.shutdown();
      await closeTracing();
      const spans = await collector.spans();
      assert.equal(ended.code, 0, ended.err);
      const byId = new Map(spans.map((span) => [span.id, span]));
      const pathOf = ({ name, parent }: ReceivedSpan): string[] =>
        parent === '' ? [name] : [...pathOf(byId.get(parent)!), name];
      const own = (name: string) => spans.find((span) => span.name === name)!;
      const started = ['gauntlet evaluate', 'StartWorkflow:evaluateCheckpoint'];
      const model = spans.find((span) => span.name.startsWith('text_completion'))!;
      assert.deepEqual(pathOf(model), [...started, 'RunActivity:generateChains', model.name]);
      assert.deepEqual(pathOf(own('sandbox run')), [...started, 'RunActivity:executeSuite', 'sandbox run']);
      assert.equal(new Set(spans.map((span) => span.trace)).size, 1);
      assert.ok(spans.every(({ service, failed }) => service === 'gauntlet' && !failed));
      assert.deepEqual(
        spans.filter(({ name }) => /^(Query|Describe)Workflow/.test(name)),
        [],
      );
      assert.deepEqual([model.scope, model.schema], ['gauntlet', 'https://opentelemetry.io/schemas/1.37.0']);
      const { attributes } = model;
      assert.equal(attributes['gen_ai.operation.name'], 'text_completion');
      assert.equal(attributes['gen_ai.provider.name'], 'gauntlet');
      assert.equal(attributes['gauntlet.sequences'], 12);
      assert.ok(Number(attributes['gen_ai.usage.input_tokens']) > 0);
      assert.ok(Number(attributes['gen_ai.usage.output_tokens']) > 0);
      assert.ok(Number(own('sandbox run').attributes['gauntlet.programs']) > 0);
    });

    it('names a command with its group, and marks its failure', async () => {
      collector = await startCollector();
      process.env[ENDPOINT] = collector.endpoint;
      await inProcess('checkpoints', 'list', 'missing', '--store', world.folder);
      const [span, ...others] = await collector.spans();
      const { name, failed, attributes } = span!;
      assert.deepEqual([name, failed, attributes['error.type']], ['gauntlet checkpoints list', true, 'NOT_FOUND']);
      assert.deepEqual(others, []);
    });

    it('reports a collector that cannot be reached once, and the command succeeds', async () => {
      process.env[ENDPOINT] = 'http://127.0.0.1:1';
      const { code, err } = await inProcess('checkpoints', 'list', 'run', '--store', world.folder);
      assert.equal(code, 0, err);
      assert.match(err, /^traces are lost, the collector did not take them: .*ECONNREFUSED.*\n$/);
    });
  });
});

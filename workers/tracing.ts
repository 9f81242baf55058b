// Traces over OTLP: command → workflow → activity → calls of the model and the sandbox. Attributes of model calls follow the
// semantic conventions for generative AI, version 1.37.0. Prompts and answers are not recorded. Imported on demand only, see
// telemetry.ts.
import {
  type Attributes,
  context,
  DiagLogLevel,
  diag,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResourcesSync, envDetectorSync, Resource } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { Next, WorkflowClientInterceptor, WorkflowDescribeInput, WorkflowQueryInput } from '@temporalio/client';
import {
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
} from '@temporalio/interceptors-opentelemetry';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Deps } from '../chains/scope.js';
import { isIn, type Shard } from '../core/shards.js';
import { visible } from '../core/visible.js';
import type { Engine } from '../ml/engine/engine.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { overlaid } from './overlay.js';

const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.37.0';

export interface Tracing {
  clientInterceptor: WorkflowClientInterceptor;
  activityInterceptor: ActivityInterceptorsFactory;
  deps(deps: Deps): Deps;
  span<T>(name: string, work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Endpoint, headers, sampling, batches and resource attributes are read from the standard variables. */
export function startTracing(): Tracing {
  const resource = new Resource({ 'service.name': 'gauntlet' }).merge(
    detectResourcesSync({ detectors: [envDetectorSync] }),
  );
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  const report = failureReporter();
  const quiet = (): void => undefined;
  diag.setLogger({ error: report, warn: quiet, info: quiet, debug: quiet, verbose: quiet }, DiagLogLevel.ERROR);
  return {
    clientInterceptor: new ClientInterceptor(),
    activityInterceptor: (activity) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(activity) }),
    deps: tracedDeps,
    span: (name, work) => inSpan(name, {}, work),
    close: async () => {
      await provider.shutdown().catch(report);
      trace.disable();
      context.disable();
      propagation.disable();
      diag.disable();
    },
  };
}

/** Leaves out questions: a command that follows a run asks more than once per second, which would be most spans of a trace. */
class ClientInterceptor extends OpenTelemetryWorkflowClientInterceptor {
  override query(input: WorkflowQueryInput, next: Next<WorkflowClientInterceptor, 'query'>) {
    return next(input);
  }
  override describe(input: WorkflowDescribeInput, next: Next<WorkflowClientInterceptor, 'describe'>) {
    return next(input);
  }
}

/** Reports the first failure only: each lost batch is one. */
function failureReporter(): (failure: unknown) => void {
  let reported = false;
  return (failure) => {
    if (!reported)
      process.stderr.write(`traces are lost, the collector did not take them: ${visible(reasonOf(failure))}\n`);
    reported = true;
  };
}

/** The SDK logs an error as JSON. */
function reasonOf(failure: unknown): string {
  const text = failure instanceof Error ? failure.message : String(failure);
  const message = /"message":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text;
  return message.split(/\n|\\n/)[0]!.replace(/\p{Cc}/gu, ' ');
}

function tracedDeps(deps: Deps): Deps {
  return overlaid(deps, {
    engine: async (model, config) => tracedEngine(await deps.engine(model, config), model),
    sandbox: async (config) => tracedSandbox(await deps.sandbox(config)),
  });
}

function tracedEngine(engine: Engine, model: string): Engine {
  const common = { 'gen_ai.provider.name': 'gauntlet', 'gen_ai.request.model': model };
  const call = <T>(name: string, sequences: number, work: () => Promise<T>): Promise<T> =>
    inSpan(`${name} ${model}`, { ...common, 'gen_ai.operation.name': name, 'gauntlet.sequences': sequences }, work);
  return overlaid(engine, {
    generate: (requests, options) =>
      call('text_completion', requests.length, async () => {
        const generated = await engine.generate(requests, options);
        const count = (lists: readonly { length: number }[]) => lists.reduce((sum, { length }) => sum + length, 0);
        trace.getActiveSpan()?.setAttributes({
          'gen_ai.request.temperature': options.temperature,
          'gen_ai.request.max_tokens': options.maxNewTokens,
          ...(options.topK !== undefined && { 'gen_ai.request.top_k': options.topK }),
          ...(options.topP !== undefined && { 'gen_ai.request.top_p': options.topP }),
          'gen_ai.usage.input_tokens': count(requests.map(({ prompt }) => prompt)),
          'gen_ai.usage.output_tokens': count(generated.map(({ tokens }) => tokens)),
        });
        return generated;
      }),
    logprobs: (sequences, options) => call('logprobs', sequences.length, () => engine.logprobs(sequences, options)),
    scores: (sequences, options) => call('scores', sequences.length, () => engine.scores(sequences, options)),
    gradients: (sequences, options) => call('gradients', sequences.length, () => engine.gradients(sequences, options)),
    scoreShard: (sequences, options) =>
      call('scores', shareOf(sequences, options), () => engine.scoreShard(sequences, options)),
    gradientShard: (sequences, options) =>
      call('gradients', shareOf(sequences, options), () => engine.gradientShard(sequences, options)),
  });
}

/** Sequences of a shard, before rows that begin alike are joined. */
const shareOf = (sequences: readonly unknown[], { shard }: { shard: Shard }): number =>
  sequences.filter((_, i) => isIn(i, shard)).length;

function tracedSandbox(sandbox: Sandbox): Sandbox {
  const call = <T>(name: string, programs: number, work: () => Promise<T>): Promise<T> =>
    inSpan(`sandbox ${name}`, { 'gauntlet.sandbox': sandbox.info.kind, 'gauntlet.programs': programs }, work);
  return overlaid(sandbox, {
    run: (jobs, options) => call('run', jobs.length, () => sandbox.run(jobs, options)),
    runTests: (jobs, options) => call('runTests', jobs.length, () => sandbox.runTests(jobs, options)),
  });
}

function inSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  const tracer = trace.getTracerProvider().getTracer('gauntlet', undefined, { schemaUrl: SCHEMA_URL });
  return tracer.startActiveSpan(name, { kind: SpanKind.INTERNAL, attributes }, async (span) => {
    try {
      return await work();
    } catch (error) {
      fail(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

function fail(span: Span, error: unknown): void {
  const { name, code } = error as { name?: string; code?: string };
  span.setAttribute('error.type', code ?? name ?? 'Error');
  span.setStatus({ code: SpanStatusCode.ERROR });
}

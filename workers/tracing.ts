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
import { visible } from '../core/base/visible.js';
import { isIn, type Shard } from '../core/run/shards.js';
import type { Generated, GenerateOptions, GenerateRequest } from '../ml/engine/engine.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { batchOf, type Observer, type Outcome } from './observe.js';

const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.37.0';

export interface Tracing {
  clientInterceptor: WorkflowClientInterceptor;
  activityInterceptor: ActivityInterceptorsFactory;
  observer: Observer;
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
    observer: traced,
    span: (name, work) => inSpan(name, work),
    close: async () => {
      await provider.shutdown().catch(report);
      trace.disable();
      context.disable();
      propagation.disable();
      diag.disable();
    },
  };
}

/** Makes no spans for queries: a command that follows a run sends several per second, which would be most spans of a trace. */
class ClientInterceptor extends OpenTelemetryWorkflowClientInterceptor {
  override query(input: WorkflowQueryInput, next: Next<WorkflowClientInterceptor, 'query'>) {
    return next(input);
  }
  override describe(input: WorkflowDescribeInput, next: Next<WorkflowClientInterceptor, 'describe'>) {
    return next(input);
  }
}

/** Reports only the first failure, because every lost batch is a failure. */
function failureReporter(): (failure: unknown) => void {
  let reported = false;
  return (failure) => {
    if (!reported)
      process.stderr.write(`traces are lost, the collector did not take them: ${visible(reasonOf(failure))}\n`);
    reported = true;
  };
}

/** The reason of a failure, which the SDK logs as JSON. */
function reasonOf(failure: unknown): string {
  const text = failure instanceof Error ? failure.message : String(failure);
  const message = /"message":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text;
  return message.split(/\n|\\n/)[0]!.replace(/\p{Cc}/gu, ' ');
}

/** A span for each call of the model or the sandbox on a batch. */
const traced: Observer = (call) => {
  const batch = batchOf(call);
  if (batch === undefined) return undefined;
  if (call.port === 'sandbox') {
    const { kind } = (call.target as Sandbox).info;
    return endOf(begin(`sandbox ${call.method}`, { 'gauntlet.sandbox': kind, 'gauntlet.programs': batch.length }));
  }
  if (call.port !== 'engine') return undefined;
  const [, options = {}] = call.args as [unknown, ({ shard?: Shard } & Partial<GenerateOptions>)?];
  const { shard } = options;
  const name = call.method === 'generate' ? 'text_completion' : call.method;
  const span = begin(`${name} ${call.opening}`, {
    'gen_ai.provider.name': 'gauntlet',
    'gen_ai.request.model': String(call.opening),
    'gen_ai.operation.name': name,
    'gauntlet.sequences': shard ? batch.filter((_, i) => isIn(i, shard)).length : batch.length,
  });
  return endOf(span, (result) => {
    if (call.method === 'generate')
      span.setAttributes(tokensOf(batch as GenerateRequest[], options as GenerateOptions, result as Generated[]));
  });
};

function tokensOf(requests: GenerateRequest[], options: GenerateOptions, generated: Generated[]): Attributes {
  const count = (lists: readonly { length: number }[]) => lists.reduce((sum, { length }) => sum + length, 0);
  return {
    'gen_ai.request.temperature': options.temperature,
    'gen_ai.request.max_tokens': options.maxNewTokens,
    ...(options.topK !== undefined && { 'gen_ai.request.top_k': options.topK }),
    ...(options.topP !== undefined && { 'gen_ai.request.top_p': options.topP }),
    'gen_ai.usage.input_tokens': count(requests.map(({ prompt }) => prompt)),
    'gen_ai.usage.output_tokens': count(generated.map(({ tokens }) => tokens)),
  };
}

const endOf =
  (span: Span, succeed: (result: unknown) => void = () => undefined) =>
  ({ result, error }: Outcome): void => {
    if (error === undefined) succeed(result);
    else fail(span, error);
    span.end();
  };

const tracer = () => trace.getTracerProvider().getTracer('gauntlet', undefined, { schemaUrl: SCHEMA_URL });

/** Begins a span below the active span. */
const begin = (name: string, attributes: Attributes): Span =>
  tracer().startSpan(name, { kind: SpanKind.INTERNAL, attributes });

function inSpan<T>(name: string, work: () => Promise<T>): Promise<T> {
  return tracer().startActiveSpan(name, { kind: SpanKind.INTERNAL }, async (span) => {
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

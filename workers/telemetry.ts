// Decides whether traces are sent. Nothing of OpenTelemetry is loaded unless a standard variable names a collector.
import { GauntletError } from '../core/base/errors.js';
import type { Tracing } from './tracing.js';

let opened: Promise<Tracing> | undefined;

/** The tracing of this process; undefined if it is off. @throws GauntletError BAD_CONFIG */
export async function openTracing(env: NodeJS.ProcessEnv = process.env): Promise<Tracing | undefined> {
  if (!isOn(env)) return undefined;
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf';
  if (protocol !== 'http/protobuf')
    throw new GauntletError('BAD_CONFIG', `OTEL_EXPORTER_OTLP_PROTOCOL=${protocol}: only http/protobuf is supported`);
  opened ??= import('./tracing.js').then(({ startTracing }) => startTracing());
  return opened;
}

/** Sends the remaining spans. Does not fail if the collector does not answer. */
export async function closeTracing(): Promise<void> {
  const tracing = await opened?.catch(() => undefined);
  opened = undefined;
  await tracing?.close();
}

const isOn = (env: NodeJS.ProcessEnv): boolean =>
  Boolean(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT) &&
  env.OTEL_SDK_DISABLED?.toLowerCase() !== 'true' &&
  env.OTEL_TRACES_EXPORTER !== 'none';

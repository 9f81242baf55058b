// Sends heartbeats on a timer for every activity that has a heartbeat timeout, with the latest details. A long call into
// the engine or the sandbox sends none itself, and activities learn of their cancellation only through heartbeats.
import type { Context } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';

const SHORTEST_MS = 200;

export class TimedHeartbeat implements ActivityInboundCallsInterceptor {
  constructor(private readonly context: Context) {}

  async execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    const { context } = this;
    const timeout = context.info.heartbeatTimeoutMs;
    if (!timeout) return next(input);
    const send = context.heartbeat.bind(context);
    let latest: unknown;
    // Activities report progress many times a second: sending each report took a quarter of their own time.
    (context as { heartbeat: (details?: unknown) => void }).heartbeat = (details) => {
      latest = details;
    };
    const timer = setInterval(() => send(latest), Math.max(SHORTEST_MS, timeout / 5));
    try {
      return await next(input);
    } finally {
      clearInterval(timer);
    }
  }
}

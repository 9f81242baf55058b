// Passes the trace of the command that started a workflow on to its activities and to the run that continues it. It is a
// workflow interceptor. It neither waits nor creates spans, because both would change the order of commands: histories recorded
// without the interceptor would not replay.
import type { Headers } from '@temporalio/common';
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

const TRACE_HEADER = '_tracer-data'; // the name that @temporalio/interceptors-opentelemetry uses

export const interceptors: WorkflowInterceptorsFactory = () => {
  let trace: Headers = {};
  return {
    inbound: [
      {
        execute: (input, next) => {
          const header = input.headers[TRACE_HEADER];
          if (header) trace = { [TRACE_HEADER]: header };
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next({ ...input, headers: { ...input.headers, ...trace } }),
        continueAsNew: (input, next) => next({ ...input, headers: { ...input.headers, ...trace } }),
      },
    ],
  };
};

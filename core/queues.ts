// Task queues and who serves them: workflows and activities meet on these names.

export const WORKER_ROLES = ['orchestrator', 'gpu', 'sandbox', 'cpu'] as const;
export type WorkerRole = (typeof WORKER_ROLES)[number];

/** The orchestrator's is the one that people start workflows on. */
export const TASK_QUEUES: Record<WorkerRole, string> = {
  orchestrator: 'gauntlet',
  gpu: 'gauntlet-gpu',
  sandbox: 'gauntlet-sandbox',
  cpu: 'gauntlet-cpu',
};

/** A worker of models by the queue that it alone serves. */
export interface ModelWorkerClaim {
  queue: string;
  buildId?: string; // of its code, where it has one
}

/** The worker deployment of workers that have a build id. */
export const DEPLOYMENT = 'gauntlet';

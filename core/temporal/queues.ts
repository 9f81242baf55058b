// Task queues and the worker roles that serve them.

export const WORKER_ROLES = ['orchestrator', 'gpu', 'sandbox', 'cpu'] as const;
export type WorkerRole = (typeof WORKER_ROLES)[number];

/** The task queue of each role. Workflows are started on the queue of the orchestrator. */
export const TASK_QUEUES: Record<WorkerRole, string> = {
  orchestrator: 'gauntlet',
  gpu: 'gauntlet-gpu',
  sandbox: 'gauntlet-sandbox',
  cpu: 'gauntlet-cpu',
};

/** How often a busy model worker declines a claim or a shard, so that an idle one can take it. */
export const MAX_DECLINES = 4;

/** A model worker, named by its private queue. */
export interface ModelWorkerClaim {
  queue: string;
  buildId?: string; // the build of its code, if it has an id
}

/** The deployment name of workers that have a build id. */
export const DEPLOYMENT = 'gauntlet';

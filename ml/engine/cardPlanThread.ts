// Entry of the thread that plans the memory of a card. It builds the graphs of a model, which takes up to a second.
import { parentPort, workerData } from 'node:worker_threads';
import type { ModelConfig } from '../hf/config.js';
import { type CardUse, planCard } from './cardPlan.js';

export interface CardTask {
  config: ModelConfig;
  use: CardUse;
}

const { config, use } = workerData as CardTask;
parentPort!.postMessage(planCard(config, use));

// How long sampling and training took by the clock, from the histories of a run. The records of steps do not say it: they
// have the time of the slowest shard, also if one worker computed all shards.
import { type HistoryEvent, timeOf } from '../orchestration/histories.js';
import { attribute, type Span } from '../orchestration/spans.js';

export interface PhaseSeconds {
  sampling: number;
  training: number; // scoring and updates
  all: number; // of steps, with judging and rewards, without evaluations
}

const SAMPLING = new Set(['generateChains', 'generateTests']);
const TRAINING = new Set([
  ...['scoreShard', 'scoreOldPolicy', 'computeGradients', 'applyGradients', 'updatePolicy'],
  'trainPolicy', // with shards, it joins what they stored
]);
const OTHERS = new Set(['selectChains', 'executeSuite', 'computeRewards']);

/** Seconds during which at least one such activity waited or ran. What overlaps counts once. */
export function phaseSeconds(events: readonly HistoryEvent[]): PhaseSeconds {
  const spans: Record<'sampling' | 'training' | 'others', Span[]> = { sampling: [], training: [], others: [] };
  let scheduled = new Map<string, HistoryEvent>();
  for (const event of events) {
    if (event.workflowExecutionStartedEventAttributes) scheduled = new Map(); // the next history
    if (event.activityTaskScheduledEventAttributes) scheduled.set(String(event.eventId), event);
    const began = scheduled.get(String(event.activityTaskCompletedEventAttributes?.scheduledEventId));
    const name = began?.activityTaskScheduledEventAttributes?.activityType?.name;
    if (began === undefined || typeof name !== 'string') continue;
    const kind = SAMPLING.has(name) ? 'sampling' : TRAINING.has(name) ? 'training' : OTHERS.has(name) && 'others';
    if (kind && !isEvaluation(began)) spans[kind].push([timeOf(began), timeOf(event)]);
  }
  const every = Object.values(spans).flat();
  const whole: Span = [Math.min(...every.map(([from]) => from)), Math.max(...every.map(([, to]) => to))];
  const [sampling, training, others] = attribute(whole, Object.values(spans)).map((ms) => ms / 1000);
  return { sampling: sampling!, training: training!, all: sampling! + training! + others! };
}

/** Chains and tests of an evaluation have activities of their own if work is shared. */
function isEvaluation({ activityTaskScheduledEventAttributes: scheduled }: HistoryEvent): boolean {
  const input = JSON.parse(Buffer.from(scheduled!.input!.payloads![0]!.data!).toString('utf8'));
  return input.batch?.kind === 'evaluation' || input.targets?.kind === 'evaluation';
}

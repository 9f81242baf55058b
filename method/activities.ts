// All activities, by name. A worker registers one function for each.
import type { Activity, Call } from './activity.js';
import * as evaluate from './evaluate.js';
import * as judge from './judge.js';
import * as prepare from './prepare.js';
import * as records from './records.js';
import * as sample from './sample.js';
import * as train from './train.js';
import * as warmStart from './warmStart.js';

export * from './evaluate.js';
export * from './judge.js';
export * from './prepare.js';
export * from './records.js';
export * from './sample.js';
export * from './train.js';
export * from './warmStart.js';

export const ACTIVITIES = { ...prepare, ...sample, ...judge, ...train, ...warmStart, ...evaluate, ...records };

type Table = typeof ACTIVITIES;
export type Name = keyof Table;
export type Input<N extends Name> = Table[N] extends Activity<infer I, unknown> ? I : never;
export type Output<N extends Name> = Table[N] extends Activity<infer _, infer O> ? O : never;

/** One function for each activity. */
export type Activities = { [N in Name]: (input: Input<N>) => Promise<Output<N>> };

/** Returns a function that calls these functions as activities. */
export const callOf =
  (activities: Activities): Call =>
  <I, O>(activity: Activity<I, O>, input: I) =>
    (activities as unknown as Record<string, (input: I) => Promise<O>>)[activity.name]!(input);

// What the result of an activity depends on, and the key of its memo row.
import type { RunRef } from '../core/schema/runRef.js';
import type { Activity } from '../method/activity.js';
import type { ScoreOldPolicyInput } from '../method/train.js';
import { memoKey } from '../store/memo.js';

/** The key of an activity's result. */
export const keyOf = <I, O>({ name, version = 0 }: Activity<I, O>, input: NoInfer<I>): string =>
  memoKey(name, version, keyInputs(input));

/** The part of the input that the result depends on. How several workers shared the work does not matter. */
export function keyInputs(input: unknown): object {
  const { shards: _, rows: __, ...inputs } = input as Pick<ScoreOldPolicyInput, 'shards' | 'rows'>;
  const run = runOf(inputs);
  return run === undefined ? inputs : { ...inputs, run: runIdentityOf(run) };
}

/** Results depend on these digests, not on the run's id, the location of its models or its device. */
export function runIdentityOf({ bases, config, problems }: Pick<RunRef, 'config'> & Partial<RunRef>): object {
  if (bases === undefined) return { config };
  const identityOf = ({ modelDigest, adapterConfig }: RunRef['bases']['generator']) => ({ modelDigest, adapterConfig });
  const [generator, discriminator] = [identityOf(bases.generator), identityOf(bases.discriminator)];
  return { bases: { generator, discriminator }, config, problems };
}

export function runOf(input: unknown): RunRef | undefined {
  return typeof input === 'object' && input !== null && 'run' in input ? (input.run as RunRef) : undefined;
}

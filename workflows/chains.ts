// Programs that fail a baseline test are written again. The sandbox runs them in between, so this takes three activities.
import type { GenerateChainsInput, GenerateChainsOutput } from '../activities/compositeActivities.js';
import type { Activities } from '../activities/index.js';

/** Samples chains. With `selfRepair`, tests are written for the repaired programs. */
export async function generateChains(
  activities: Activities,
  { tests, ...input }: GenerateChainsInput,
  selfRepair = false,
): Promise<GenerateChainsOutput> {
  if (!selfRepair) return activities.generateChains({ ...input, tests });
  const { chains, tokens } = await activities.generateChains(input);
  const { failures } = await activities.findFailures({ run: input.run, chains });
  const repaired = await activities.generateChains({ ...input, tests, repair: { chains, failures } });
  return { ...repaired, tokens: tokens + repaired.tokens };
}

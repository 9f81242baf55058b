// The reward schemes. CONTRIBUTING.md tells how to add one.
import type { RunConfig } from '../schema/config.js';
import type { RewardScheme } from './rule.js';
import { CODE_A1 } from './schemes/codeA1.js';
import { DISCRIMINATION } from './schemes/discrimination.js';
import { ALL_TESTS, SHIFTED } from './schemes/shifted.js';

export const REWARD_RULES: Readonly<Record<RunConfig['reward']['scheme'], RewardScheme>> = {
  shifted: SHIFTED,
  'all-tests': ALL_TESTS,
  'code-a1': CODE_A1,
  discrimination: DISCRIMINATION,
};

// What a step has used, also where it comes to no end.
import { add, type Spending } from '../../core/control.js';
import type { Acts } from '../acts.js';

/** The same activities, with what their results say they used added up as they come. */
export function metered(acts: Acts, meter: { spent: Spending }): Acts {
  const counting = Object.entries(acts).map(([name, act]) => [
    name,
    async (input: never): Promise<unknown> => {
      const result = await (act as (input: never) => Promise<Partial<Spending>>)(input);
      const { tokens = 0, seconds = 0, executions = 0 } = result;
      meter.spent = add(meter.spent, { tokens, seconds, executions });
      return result;
    },
  ]);
  return Object.fromEntries(counting) as Acts;
}

// JSON from elsewhere may be nested as deep as its author likes; what walks over it would overflow the stack.
const DEEPEST = 200; // far more than any value, problem or configuration needs

/** Whether a value as JSON.parse gives it is nested too deep to be walked over. */
export function isTooDeep(value: unknown, deepest: number = DEEPEST): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    const below = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
    if (depth >= deepest && below.length > 0) return true;
    level = below;
  }
  return false;
}

// Untrusted JSON may be nested so deeply that a recursive function overflows the stack.
const DEEPEST = 200; // far more than any value, problem or configuration needs

/** Whether a parsed JSON value is nested too deeply for recursive functions. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    const below = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
    if (depth >= DEEPEST && below.length > 0) return true;
    level = below;
  }
  return false;
}

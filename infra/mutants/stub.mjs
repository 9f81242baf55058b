// Replaces one function by a stub: code appended to the built module, so that importers and the module itself get the
// stub. A stub keeps the result's type where that is cheap: a stub that crashes proves little.

/**
 * The text of the module with `target` replaced.
 * @param {string} source
 * @param {import('./targets.mjs').Target} target
 */
export function withStub(source, { kind, path }) {
  const [name, ...keys] = kind === 'composite' ? path.slice(0, 1) : path; // the function that returns the table
  const place = [name, ...keys.map((key) => `[${JSON.stringify(key)}]`)].join('');
  // A function declaration may be assigned to inside its module; a constant becomes a variable first.
  const open =
    keys.length === 0
      ? source.replace(new RegExp(`(^|\\n)(\\s*(?:export )?)const ${name}\\b`), `$1$2let ${name}`)
      : source;
  const map = /\n\/\/# sourceMappingURL=.*\s*$/; // without it, the appended code is the last line
  return `${open.replace(map, '\n')}\n${place} = (${STUBS[kind]})(${place}, ${JSON.stringify(path.at(-1))});\n`;
}

// Each stub is a function from the original to its replacement. BLANK keeps the types of the original's results.
const BLANK = `(original) => {
  const blank = (value) => {
    if (typeof value === 'number') return 0;
    if (typeof value === 'bigint') return 0n;
    if (typeof value === 'string') return '';
    if (typeof value === 'boolean') return false;
    if (typeof value === 'function') return (...inputs) => blank(value(...inputs));
    if (ArrayBuffer.isView(value)) return new value.constructor(value.length);
    if (value instanceof Map || value instanceof Set) return new value.constructor();
    if (Array.isArray(value)) return value.map(blank);
    if (value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, blank(item)]));
    }
    return undefined;
  };
  // A function without parameters gives a constant, which may be blank already.
  return (...inputs) => {
    if (original.length === 0 && inputs.length === 0) return undefined;
    try {
      return blank(original(...inputs));
    } catch {
      return undefined;
    }
  };
}`;

const STUBS = {
  activity: '() => async () => ({})',
  composite: '(original, key) => (...given) => ({ ...original(...given), [key]: async () => ({}) })',
  gradient: '() => ({ node }) => node.inputs.map(() => undefined)', // no gradient flows
  reward: BLANK,
  parser: BLANK,
};

// A stub in the place of one function: code appended to its built module, so that everybody who imports it, and the
// module itself, gets the stub. Types are kept where that is cheap: a stub that crashes proves little.

/**
 * The text of the module with `target` replaced.
 * @param {string} source
 * @param {import('./targets.mjs').Target} target
 */
export function withStub(source, { kind, path }) {
  const [name, ...keys] = kind === 'composite' ? path.slice(0, 1) : path; // what gives the table is replaced
  const place = [name, ...keys.map((key) => `[${JSON.stringify(key)}]`)].join('');
  // A function declaration may be assigned to inside its module; a constant becomes a variable first.
  const open =
    keys.length === 0
      ? source.replace(new RegExp(`(^|\\n)(\\s*(?:export )?)const ${name}\\b`), `$1$2let ${name}`)
      : source;
  const map = /\n\/\/# sourceMappingURL=.*\s*$/; // the lines above stay where they were, but the last line must be code
  return `${open.replace(map, '\n')}\n${place} = (${STUBS[kind]})(${place}, ${JSON.stringify(path.at(-1))});\n`;
}

/** The value as one of its kind that says nothing. */
const BLANK_VALUE = `const blank = (value) => {
  if (typeof value === 'number') return 0;
  if (typeof value === 'bigint') return 0n;
  if (typeof value === 'string') return '';
  if (typeof value === 'boolean') return false;
  if (typeof value === 'function') return (...inputs) => blank(value(...inputs));
  if (value instanceof Promise) return value.then(blank, () => undefined);
  if (value instanceof Uint8Array) return new Uint8Array(value.length);
  if (ArrayBuffer.isView(value)) return new value.constructor(value.length);
  if (value instanceof Map || value instanceof Set) return new value.constructor();
  if (Array.isArray(value)) return value.map(blank);
  if (value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, blank(item)]));
  }
  return undefined;
};`;

// Each takes the true function and gives the stub.
const BLANK = `(original) => {
  ${BLANK_VALUE}
  // What takes nothing gives a constant, which may be blank already.
  return (...inputs) => {
    if (original.length === 0 && inputs.length === 0) return undefined;
    try {
      return blank(original(...inputs));
    } catch {
      return undefined;
    }
  };
}`;

// As BLANK, and for what works by its effects too: what gives no value does nothing.
const IDLE = `(original) => {
  const text = Function.prototype.toString.call(original);
  const isExpression = /^(async\\s*)?(\\([^)]*\\)|[\\w$]+)\\s*=>\\s*[^{\\s]/.test(text);
  const gives = isExpression || /\\breturn\\s+[^;\\s]|\\byield\\b/.test(text);
  ${BLANK_VALUE}
  if (!gives) return /^async\\b/.test(text) ? async () => {} : () => {};
  return function (...inputs) {
    try {
      return blank(original.apply(this, inputs));
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
  function: IDLE,
};

/** `target` with some methods replaced. Its own methods still see `target` itself. */
export function overlaid<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get: (_, key) => {
      const from = key in methods ? methods : target;
      const value: unknown = Reflect.get(from, key);
      return typeof value === 'function' ? value.bind(from) : value;
    },
  });
}

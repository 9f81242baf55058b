/**
 * Nests layers around a function; the first one is outside. A layer gets the next inner function, and returns one of the same
 * type.
 */
export const compose =
  <F>(...layers: ((next: F) => F)[]) =>
  (inner: F): F =>
    layers.reduceRight((next, layer) => layer(next), inner);

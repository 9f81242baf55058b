/**
 * Nests layers around a function; the first layer is the outermost. A layer gets the next inner function, and returns a
 * function of the same type.
 */
export const compose =
  <F>(...layers: ((next: F) => F)[]) =>
  (inner: F): F =>
    layers.reduceRight((next, layer) => layer(next), inner);

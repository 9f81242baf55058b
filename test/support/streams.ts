// Numbers that depend on a seed and a name, as in test/ml/parity/streams.py.
import { crc32 } from 'node:zlib';
import { elements, type LayoutEntry, layoutSize } from '../../ml/nn/layout.js';

/** `size` numbers in [−0.5, 0.5) that depend on the seed and the name. */
export function uniform(seed: number, name: string, size: number): Float64Array {
  const start = crc32(`${seed} ${name}`);
  return Float64Array.from({ length: size }, (_, k) => {
    let x = (start + k) >>> 0;
    x = Math.imul(x ^ (x >>> 16), 0x7feb352d) >>> 0;
    x = Math.imul(x ^ (x >>> 15), 0x846ca68b) >>> 0;
    x = (x ^ (x >>> 16)) >>> 0;
    return x / 2 ** 32 - 0.5;
  });
}

/** Every tensor of a layout in one vector. Each tensor is drawn from the stream of its name. */
export function filled(
  layout: readonly LayoutEntry[],
  value: (name: string, size: number) => Float64Array,
): Float32Array {
  const flat = new Float32Array(layoutSize(layout));
  for (const { name, shape, offset } of layout) flat.set(value(name, elements(shape)), offset);
  return flat;
}

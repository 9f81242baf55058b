// The interpreter's only kind of tensor.

/** A tensor of any type, including integers and booleans, as f64. */
export interface NdArray {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export function ndarray(shape: readonly number[], data: Iterable<number>): NdArray {
  const array = { shape, data: Float64Array.from(data) };
  const size = shape.reduce((a, b) => a * b, 1);
  if (array.data.length !== size) throw new RangeError(`${array.data.length} values do not fill [${shape.join(', ')}]`);
  return array;
}

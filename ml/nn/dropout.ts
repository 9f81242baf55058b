// Dropout of the LoRA inputs. The mask is not stored. It is a function of key, sequence, position, layer, projection and feature,
// so it is the same wherever and whenever it is computed.
import { deriveKey, philox } from '../../core/base/random.js';
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import { PROJECTIONS, type Projection } from './config.js';

const COLUMNS = deriveKey('dropout columns');
const SITES = deriveKey('dropout sites');

/** Two int32 for each index: the first is any number, the second is even. */
function pairs(count: number, first: number, key: readonly [number, number]): [Int32Array, Int32Array] {
  const [a, b] = [new Int32Array(count), new Int32Array(count)];
  for (let i = 0; i < count; i++) {
    const [x, y] = philox([first + i, 0, 0, 0], key);
    a[i] = x!;
    b[i] = y! & ~1;
  }
  return [a, b];
}

/**
 * Inputs: random numbers dropoutA and dropoutB int32 [rows, 1]; those of dropoutB are odd. A number of the column and one of
 * the site (layer and projection) are added to each. The product of the two sums modulo 2³² is uniform, because x ↦ x·odd is a
 * permutation.
 * An element is kept if the product, as an int32, is at most the (1 − rate) quantile.
 */
export class LoraDropout {
  private readonly rows: readonly [Value, Value];
  private readonly columns = new Map<number, readonly [Value, Value]>();
  private readonly threshold: Value;

  constructor(
    private readonly g: Graph,
    rows: number,
    readonly rate: number,
  ) {
    this.rows = [g.input('dropoutA', 'int32', [rows, 1]), g.input('dropoutB', 'int32', [rows, 1])];
    const share = Math.round((1 - rate) * 2 ** 32);
    this.threshold = g.constant('dropout_threshold', [], Int32Array.of(share - 2 ** 31 - 1));
  }

  /** Sets a share `rate` of the elements of x [rows, width] to 0. The others are not scaled. */
  apply(x: Value, layer: number, projection: Projection): Value {
    const { g } = this;
    const columns = this.columnsOf(x.shape[1] as number);
    const salts = pairs(1, layer * PROJECTIONS.length + PROJECTIONS.indexOf(projection), SITES);
    const [a, b] = salts.map((salt, i) => {
      const site = g.constant(`dropout_${layer}_${projection}_${i}`, [], salt);
      return g.add(this.rows[i]!, g.add(columns[i]!, site));
    }) as [Value, Value];
    return g.mul(x, g.cast(g.lessOrEqual(g.mul(a, b), this.threshold), 'float32'));
  }

  private columnsOf(width: number): readonly [Value, Value] {
    const known = this.columns.get(width);
    if (known) return known;
    const made = pairs(width, 0, COLUMNS).map((data, i) =>
      this.g.constant(`dropout_columns_${width}_${i}`, [1, width], data),
    ) as [Value, Value];
    this.columns.set(width, made);
    return made;
  }
}

// The differences between families of decoders, as data: one file per family and one line in index.ts.
import { PROJECTIONS, type Projection } from '../config.js';

/** Values of fields of config.json. */
type Fields = Readonly<Record<string, unknown>>;

export interface Architecture {
  name: string; // the name in the field `architectures`
  modelType: string; // the name in the field `model_type`
  /** The values that transformers uses for fields that config.json leaves out. */
  defaults: Fields;
  /** Fields for which the graphs support one value only. */
  fixed: Fields;
  /** Projections that always add a bias. */
  biases: readonly Projection[];
  /** Projections that add a bias if config.json sets a field. */
  biasFields: Readonly<Record<string, readonly Projection[]>>;
  qkNorm: boolean; // RMSNorm over every head of q and k
}

const part = (prefix: string): Projection[] => PROJECTIONS.filter((p) => p.startsWith(prefix));
export const ATTENTION = part('self_attn.');
export const MLP = part('mlp.');

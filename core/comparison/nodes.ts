// Values as trees whose nodes carry a number for their exact value: two nodes of one forest have the same `id` exactly
// when they are equal without tolerance, whatever the order of sets, dicts and (any-depth) lists. Linear in the parts.
import type { Value } from '../schema/value.js';
import { isLoose, isNan, isNumber, type NumberView, numberKey, view } from './views.js';

export interface ForestOptions {
  mode: 'lenient' | 'strict' | 'python'; // whether types count, and what nan is
  loose: boolean; // a tolerance is in play
  unordered: boolean; // lists are bags at every depth
}

/** Items of a `row` are in order, those of a `bag` are not. `tag` tells lists, sets, dicts and pairs of dicts apart. */
export interface Node {
  id: number;
  type: 'atom' | 'number' | 'row' | 'bag';
  tag: string;
  loose: boolean; // holds a number to which the tolerance applies; without one, equal is equal exactly
  number?: NumberView;
  items: Node[];
  labels: { shape?: number; typed?: number };
}

const NONE: Node[] = [];

export class Forest {
  private readonly ids = new Map<string, number>();
  constructor(private readonly options: ForestOptions) {}

  /** @throws Malformed */
  node(value: Value): Node {
    const v = view(value);
    const { mode, unordered } = this.options;
    if (isNumber(v)) {
      const loose = this.options.loose && isLoose(v);
      const isItself = mode !== 'python' || !isNan(v);
      const id = this.intern(`${mode === 'strict' ? v.type : ''}#${isItself ? numberKey(v) : `nan ${this.ids.size}`}`);
      return { id, type: 'number', tag: '#', loose, number: v, items: NONE, labels: {} };
    }
    switch (v.type) {
      case 'none':
        return this.atom('n');
      case 'str':
      case 'bytes':
        return this.atom(`${v.type}:${v.text}`);
      case 'list':
      case 'tuple':
        return this.group(
          unordered ? 'bag' : 'row',
          mode === 'lenient' ? 'list' : v.type,
          v.items.map((x) => this.node(x)),
        );
      case 'set':
        return this.group('bag', 'set', distinct(v.items.map((x) => this.node(x))));
      case 'dict': {
        const pairs = new Map<number, Node>(); // a key that comes twice: the last value, as in Python
        for (const [key, x] of v.pairs) {
          const k = this.node(key);
          pairs.set(k.id, this.group('row', 'pair', [k, this.node(x)]));
        }
        return this.group('bag', 'dict', [...pairs.values()]);
      }
    }
  }

  /** Equal for nodes that can be equal when every number is left out of sight. */
  shape(node: Node): number {
    return this.label(node, 'shape', (leaf) => (leaf.type === 'number' ? '#' : `=${leaf.id}`));
  }

  /** Equal for nodes that are equal and have a tolerance at the same places: 1 and 1.0 differ. */
  typed(node: Node): number {
    return this.label(node, 'typed', (leaf) => `${leaf.number?.type ?? ''}=${leaf.id}`);
  }

  private label(node: Node, field: 'shape' | 'typed', leaf: (node: Node) => string): number {
    const known = node.labels[field];
    if (known !== undefined) return known;
    let text: string;
    if (node.type === 'row' || node.type === 'bag') {
      const inner = node.items.map((item) => this.label(item, field, leaf));
      if (node.type === 'bag') inner.sort((a, b) => a - b);
      text = `${node.tag}(${inner.join()})`;
    } else text = leaf(node);
    const label = this.intern(`${field} ${text}`);
    node.labels[field] = label;
    return label;
  }

  private group(type: 'row' | 'bag', tag: string, items: Node[]): Node {
    const ids = items.map((item) => item.id);
    if (type === 'bag') ids.sort((a, b) => a - b);
    const id = this.intern(`${tag}[${ids.join()}]`);
    return { id, type, tag, loose: items.some((item) => item.loose), items, labels: {} };
  }

  private atom(key: string): Node {
    return { id: this.intern(key), type: 'atom', tag: '', loose: false, items: NONE, labels: {} };
  }

  private intern(key: string): number {
    const known = this.ids.get(key);
    if (known !== undefined) return known;
    this.ids.set(key, this.ids.size);
    return this.ids.size - 1;
  }
}

/** Without exact repeats, in order. */
export function distinct(nodes: readonly Node[]): Node[] {
  const seen = new Map<number, Node>();
  for (const node of nodes) if (!seen.has(node.id)) seen.set(node.id, node);
  return [...seen.values()];
}

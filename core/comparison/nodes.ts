// Values as trees whose nodes have an id for their exact value: two nodes of one forest have the same `id` if and only
// if they are equal without tolerance, whatever the order of sets, dicts and (any-depth) lists. Takes linear time.
import type { Value } from '../schema/value.js';
import { isLoose, isNumber, type NumberView, numberKey, realPart, view } from './views.js';
import type { Work } from './work.js';

interface ForestOptions {
  mode: 'lenient' | 'strict'; // in mode strict, types count
  loose: boolean; // whether there is a tolerance
  unordered: boolean; // whether lists have no order, at every depth
}

/** The items of a `row` have an order; those of a `bag` have none and are sorted by compareNodes. */
export interface Node {
  id: number;
  type: 'atom' | 'number' | 'row' | 'bag';
  tag: string; // distinguishes lists, sets, dicts and the pairs of dicts
  loose: boolean; // contains a number with a tolerance; nodes that are not loose are equal only if their ids are
  number?: NumberView;
  items: Node[];
}

export class Forest {
  private readonly ids = new Map<string, number>();
  constructor(
    private readonly options: ForestOptions,
    private readonly work: Work,
  ) {}

  /** @throws Malformed | TooManySteps */
  node(value: Value): Node {
    this.work.part();
    const v = view(value);
    const { mode, unordered } = this.options;
    if (isNumber(v)) {
      const id = this.intern(`${mode === 'strict' ? v.type : ''}#${numberKey(v)}`);
      return { id, type: 'number', tag: '#', loose: this.options.loose && isLoose(v), number: v, items: [] };
    }
    switch (v.type) {
      case 'none':
        return this.atom('n');
      case 'str':
      case 'bytes':
        return this.atom(`${v.type}:${v.text}`);
      case 'list':
      case 'tuple': {
        const items = v.items.map((x) => this.node(x));
        return this.group(unordered ? 'bag' : 'row', mode === 'lenient' ? 'list' : v.type, items);
      }
      case 'set':
        return this.group('bag', 'set', [...new Map(v.items.map((x) => this.node(x)).map((x) => [x.id, x])).values()]);
      case 'dict': {
        const pairs = new Map<number, Node>(); // the last value of a repeated key counts, as in Python
        for (const [key, x] of v.pairs) {
          const k = this.node(key);
          pairs.set(k.id, this.group('row', 'pair', [k, this.node(x)]));
        }
        return this.group('bag', 'dict', [...pairs.values()]);
      }
    }
  }

  /** The values as a collection without order. @throws Malformed | TooManySteps */
  bag(values: readonly Value[]): Node {
    const items = values.map((x) => this.node(x));
    return this.group('bag', 'list', items);
  }

  private group(type: 'row' | 'bag', tag: string, items: Node[]): Node {
    if (type === 'bag') items.sort((a, b) => compareNodes(a, b, this.work));
    const ids = items.map((item) => item.id);
    if (type === 'bag') ids.sort((a, b) => a - b);
    const id = this.intern(`${tag}[${ids.join()}]`);
    return { id, type, tag, loose: items.some((item) => item.loose), items };
  }

  private atom(key: string): Node {
    return { id: this.intern(key), type: 'atom', tag: '', loose: false, items: [] };
  }

  private intern(key: string): number {
    this.work.spend(key.length);
    const known = this.ids.get(key);
    if (known !== undefined) return known;
    this.ids.set(key, this.ids.size);
    return this.ids.size - 1;
  }
}

/** A total order of the nodes of a forest: by structure, then by the size of the numbers in them. */
export function compareNodes(a: Node, b: Node, work: Work): number {
  work.spend(1);
  if (a.id === b.id) return 0;
  if (a.type !== b.type) return a.type < b.type ? -1 : 1;
  if (a.tag !== b.tag) return a.tag < b.tag ? -1 : 1;
  if (a.number && b.number) {
    const [x, y] = [realPart(a.number), realPart(b.number)];
    if (x !== y) return x < y ? -1 : 1;
  }
  if (a.items.length !== b.items.length) return a.items.length - b.items.length;
  for (let i = 0; i < a.items.length; i++) {
    const order = compareNodes(a.items[i]!, b.items[i]!, work);
    if (order !== 0) return order;
  }
  return a.id - b.id;
}

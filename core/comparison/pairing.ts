// Collections without an order, under a tolerance. Being close is not transitive, so sorting both sides and comparing
// one by one can call equal collections unequal: [0.0, 1.0] within 1 of [1.0, 2.0]. Here equal means that a pairing exists.
import { canPairOff } from './flow.js';
import { distinct, type Forest, type Node } from './nodes.js';
import { interval, isClose, realOf, type Tolerance } from './views.js';
import { compare, lowerBound, pairsInWindow } from './windows.js';

/** Steps that a comparison may take beside the linear part; what needs more is not equal. */
const MAX_STEPS = 4_000_000;
const MAX_PAIRS = 500_000; // of one collection, in windows

export class TooManySteps extends Error {}

export class Pairing {
  private steps = MAX_STEPS;
  constructor(
    private readonly forest: Forest,
    private readonly tolerance: Tolerance,
  ) {}

  /** The answer `a` against the expected `b`. @throws TooManySteps */
  equal(a: Node, b: Node): boolean {
    this.spend(1);
    if (a.id === b.id) return true;
    if (!b.loose || a.type !== b.type || a.tag !== b.tag) return false;
    if (b.number) return isClose(a.number!, b.number, this.tolerance);
    if (a.items.length !== b.items.length) return false;
    if (b.type === 'row') return b.items.every((item, i) => this.equal(a.items[i]!, item));
    return this.pairOff(a.items, b.items);
  }

  /** Every answer with an expected value of its own, none left on either side. */
  pairOff(answers: readonly Node[], expected: readonly Node[]): boolean {
    if (answers.length !== expected.length) return false;
    this.spend(answers.length);
    // What allows no tolerance takes an equal answer first: answers equal to it are equal to each other, so whatever
    // pairing there is can be changed to hold these pairs.
    const left = new Map<number, Node[]>();
    for (const node of answers) push(left, node.id, node);
    const loose: Node[] = [];
    for (const node of expected) {
      if (node.loose) loose.push(node);
      else if (left.get(node.id)?.pop() === undefined) return false;
    }
    const rest = [...left.values()].flat();
    return this.inShapes(rest, loose, (got, wanted) => {
      if (got.length !== wanted.length) return false;
      if (allReal(got, wanted)) return this.pairNumbers(got.map(real), wanted.map(real));
      return this.pairClasses(got, wanted);
    });
  }

  /** Every answer equals some expected value, and every expected value some answer; repeats count once. */
  cover(answers: readonly Node[], expected: readonly Node[]): boolean {
    const [as, bs] = [distinct(answers), distinctTyped(this.forest, expected)];
    const ids = { a: new Set(as.map((node) => node.id)), b: new Set(bs.map((node) => node.id)) };
    if (bs.some((node) => !node.loose && !ids.a.has(node.id))) return false;
    const loose = bs.filter((node) => node.loose);
    const met = (node: Node): boolean => ids.b.has(node.id);
    if (loose.length === 0) return as.every(met);
    return this.inShapes(as, loose, (got, wanted) => {
      if (wanted.length === 0) return got.every(met);
      if (allReal(got, wanted)) return this.coverNumbers(got, wanted, met);
      const [left, lacking] = [new Set(got.filter((node) => !met(node))), new Set(wanted)];
      for (const [i, j] of this.pairs(got, wanted)) {
        const [a, b] = [got[i]!, wanted[j]!];
        if ((left.has(a) || lacking.has(b)) && this.equal(a, b)) {
          left.delete(a);
          lacking.delete(b);
        }
      }
      return left.size === 0 && lacking.size === 0;
    });
  }

  /** Splits both sides by shape, since values of different shapes are never equal; `test` must hold for every shape. */
  private inShapes(
    answers: readonly Node[],
    expected: readonly Node[],
    test: (got: Node[], wanted: Node[]) => boolean,
  ): boolean {
    const got = new Map<number, Node[]>();
    const wanted = new Map<number, Node[]>();
    for (const node of answers) push(got, this.forest.shape(node), node);
    for (const node of expected) push(wanted, this.forest.shape(node), node);
    return [...new Set([...got.keys(), ...wanted.keys()])].every((shape) =>
      test(got.get(shape) ?? [], wanted.get(shape) ?? []),
    );
  }

  /** Points and intervals: each point in order takes the open interval that ends first. */
  private pairNumbers(points: number[], centres: number[]): boolean {
    points.sort(compare);
    const open = new EndHeap();
    const intervals = centres.map((x) => interval(x, this.tolerance)).sort((a, b) => compare(a[0], b[0]));
    let next = 0;
    for (const point of points) {
      while (next < intervals.length && intervals[next]![0] <= point) open.add(intervals[next++]![1]);
      const end = open.take();
      if (end === undefined || end < point || !Number.isFinite(point)) return false;
    }
    return true;
  }

  private coverNumbers(got: Node[], wanted: Node[], met: (node: Node) => boolean): boolean {
    const points = got.map(real).filter(Number.isFinite).sort(compare);
    const intervals = wanted.map((node) => interval(real(node), this.tolerance));
    const reached = ([from, to]: [number, number]): boolean => {
      const first = points[lowerBound(points, (x) => x < from)];
      return first !== undefined && first <= to;
    };
    if (!intervals.every(reached)) return false;
    intervals.sort((a, b) => compare(a[0], b[0]));
    const starts = intervals.map(([from]) => from);
    let furthest = -Infinity;
    const ends = intervals.map(([, to]) => (furthest = Math.max(furthest, to)));
    return got.every((node) => {
      if (met(node)) return true;
      const point = real(node);
      const last = lowerBound(starts, (x) => x <= point) - 1;
      return Number.isFinite(point) && last >= 0 && ends[last]! >= point;
    });
  }

  /** Values with numbers inside them: a flow between kinds of answers and kinds of expected values. */
  private pairClasses(got: Node[], wanted: Node[]): boolean {
    const kinds = (nodes: Node[], labelOf: (node: Node) => number): Node[][] => {
      const groups = new Map<number, Node[]>();
      for (const node of nodes) push(groups, labelOf(node), node);
      return [...groups.values()];
    };
    const as = kinds(got, (node) => node.id);
    const bs = kinds(wanted, (node) => this.forest.typed(node));
    const [a, b] = [as.map(([node]) => node!), bs.map(([node]) => node!)];
    const edges = this.pairs(a, b).filter(([i, j]) => this.equal(a[i]!, b[j]!));
    const counts = (groups: Node[][]): number[] => groups.map((group) => group.length);
    return canPairOff({ supplies: counts(as), demands: counts(bs), edges }, (steps) => this.spend(steps));
  }

  private pairs(got: Node[], wanted: Node[]): [number, number][] {
    const pairs = got.length === 0 ? [] : pairsInWindow(got, wanted, this.tolerance, Math.min(MAX_PAIRS, this.steps));
    if (pairs === undefined) throw new TooManySteps();
    this.spend(pairs.length);
    return pairs;
  }

  private spend(steps: number): void {
    this.steps -= steps;
    if (this.steps < 0) throw new TooManySteps();
  }
}

/** Expected values that only their places of tolerance tell apart (1 and 1.0) are both kept. */
function distinctTyped(forest: Forest, nodes: readonly Node[]): Node[] {
  return [...new Map(nodes.map((node) => [forest.typed(node), node])).values()];
}

/** Plain numbers without imaginary parts, on both sides. */
const allReal = (got: Node[], wanted: Node[]): boolean =>
  wanted.every((node) => node.number?.type === 'float') &&
  got.every((node) => node.number !== undefined && realOf(node.number) !== undefined);
const real = (node: Node): number => realOf(node.number!)!;

function push(map: Map<number, Node[]>, key: number, node: Node): void {
  const list = map.get(key);
  if (list) list.push(node);
  else map.set(key, [node]);
}

/** A binary heap of ends, the least first. */
class EndHeap {
  private readonly ends: number[] = [];

  add(end: number): void {
    const { ends } = this;
    let at = ends.push(end) - 1;
    for (let up = (at - 1) >> 1; at > 0 && ends[up]! > end; up = (at - 1) >> 1) {
      ends[at] = ends[up]!;
      at = up;
    }
    ends[at] = end;
  }

  take(): number | undefined {
    const { ends } = this;
    const first = ends[0];
    const last = ends.pop();
    if (ends.length === 0 || last === undefined) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= ends.length) break;
      if (child + 1 < ends.length && ends[child + 1]! < ends[child]!) child++;
      if (ends[child]! >= last) break;
      ends[at] = ends[child]!;
      at = child;
    }
    ends[at] = last;
    return first;
  }
}

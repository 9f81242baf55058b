// Equality of nodes under a tolerance. Being close is not transitive, so collections without an order are equal if
// their elements can be paired off: a bipartite matching by augmenting paths. Both sides are sorted, so each answer
// first tries the expected values near its own position, and nearly equal collections take about linear time.
import { compareNodes, type Node } from './nodes.js';
import { isClose, type Tolerance } from './views.js';
import type { Work } from './work.js';

export class Matcher {
  constructor(
    private readonly tolerance: Tolerance,
    private readonly work: Work,
  ) {}

  /** Compares an answer with an expected value. @throws TooManySteps */
  equal(answer: Node, expected: Node): boolean {
    this.work.pair();
    if (answer.id === expected.id) return true;
    if (!expected.loose || answer.type !== expected.type || answer.tag !== expected.tag) return false;
    if (expected.number) return isClose(answer.number!, expected.number, this.tolerance);
    if (answer.items.length !== expected.items.length) return false;
    if (expected.type === 'row') return expected.items.every((item, i) => this.equal(answer.items[i]!, item));
    const pairs: Pairs = { taken: [], owner: [] };
    return answer.items.every((_, i) => this.place(i, answer.items, expected.items, pairs));
  }

  /** True if each answer equals some expected value and each expected value equals some answer, whatever the numbers of repeats. */
  covers(answer: Node, expected: Node): boolean {
    const has = (nodes: readonly Node[], test: (node: Node) => boolean, like: Node): boolean => {
      for (const i of outwards(positionOf(like, nodes, this.work), nodes.length)) if (test(nodes[i]!)) return true;
      return false;
    };
    const [got, wanted] = [answer, expected].map(({ items }) => new Set(items.map(({ id }) => id)));
    return (
      expected.items.every((b) => got!.has(b.id) || (b.loose && has(answer.items, (a) => this.equal(a, b), b))) &&
      answer.items.every((a) => wanted!.has(a.id) || has(expected.items, (b) => this.equal(a, b), a))
    );
  }

  /** Pairs one more answer. Answers that already have a partner may get another partner. */
  private place(first: number, answers: readonly Node[], expected: readonly Node[], { taken, owner }: Pairs): boolean {
    const reachedFrom = new Map<number, number>(); // expected value → answer
    const queue = [first];
    for (const i of queue) {
      for (const j of outwards(i, expected.length)) {
        this.work.pair();
        if (reachedFrom.has(j) || !this.equal(answers[i]!, expected[j]!)) continue;
        reachedFrom.set(j, i);
        if (owner[j] !== undefined) {
          queue.push(owner[j]);
          continue;
        }
        for (let at: number | undefined = j; at !== undefined; ) {
          const from: number = reachedFrom.get(at)!;
          const previous: number | undefined = taken[from];
          [taken[from], owner[at]] = [at, from];
          at = previous;
        }
        return true;
      }
    }
    return false;
  }
}

interface Pairs {
  taken: number[]; // answer → expected value
  owner: number[]; // expected value → answer
}

/** The position of a node among sorted ones. */
function positionOf(node: Node, sorted: readonly Node[], work: Work): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (compareNodes(sorted[middle]!, node, work) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The indices below `length`, those near `middle` first. */
function* outwards(middle: number, length: number): Generator<number> {
  for (let distance = 0; distance <= length; distance++) {
    const [below, above] = [middle - distance, middle + distance];
    if (below >= 0 && below < length) yield below;
    if (distance > 0 && above >= 0 && above < length) yield above;
  }
}

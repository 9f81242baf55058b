// Whether things of some kinds can be paired off with places of some kinds: a maximum flow (Dinic 1970).

export interface Pairing {
  supplies: readonly number[]; // how many answers of each kind
  demands: readonly number[]; // how many expected values of each kind
  edges: readonly (readonly [number, number])[]; // an answer of kind i is equal to an expected value of kind j
}

/** True when every answer finds an expected value of its own and none is left. `spend` is told of every step. */
export function canPairOff({ supplies, demands, edges }: Pairing, spend: (steps: number) => void): boolean {
  const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  const total = sum(supplies);
  if (total !== sum(demands)) return false;
  const sink = supplies.length + demands.length + 1;
  const graph = new FlowGraph(sink + 1);
  for (const [i, count] of supplies.entries()) graph.add(0, 1 + i, count);
  for (const [j, count] of demands.entries()) graph.add(1 + supplies.length + j, sink, count);
  for (const [i, j] of edges) graph.add(1 + i, 1 + supplies.length + j, Math.min(supplies[i]!, demands[j]!));
  return graph.maximum(0, sink, spend) === total;
}

class FlowGraph {
  private readonly to: number[] = [];
  private readonly room: number[] = []; // edge e and its reverse e ^ 1
  private readonly edgesOf: number[][];
  private level: Int32Array;
  private next: Int32Array;

  constructor(size: number) {
    this.edgesOf = Array.from({ length: size }, () => []);
    this.level = new Int32Array(size);
    this.next = new Int32Array(size);
  }

  add(from: number, to: number, capacity: number): void {
    this.edgesOf[from]!.push(this.to.length);
    this.to.push(to);
    this.room.push(capacity);
    this.edgesOf[to]!.push(this.to.length);
    this.to.push(from);
    this.room.push(0);
  }

  maximum(source: number, sink: number, spend: (steps: number) => void): number {
    let flow = 0;
    while (this.rank(source, sink)) {
      spend(this.to.length);
      this.next.fill(0);
      for (let pushed = this.push(source, sink, spend); pushed > 0; pushed = this.push(source, sink, spend))
        flow += pushed;
    }
    return flow;
  }

  /** Distances from the source over edges with room; false when the sink is out of reach. */
  private rank(source: number, sink: number): boolean {
    this.level.fill(-1);
    this.level[source] = 0;
    const queue = [source];
    for (let head = 0; head < queue.length; head++) {
      const at = queue[head]!;
      for (const edge of this.edgesOf[at]!) {
        const to = this.to[edge]!;
        if (this.room[edge]! > 0 && this.level[to]! < 0) {
          this.level[to] = this.level[at]! + 1;
          queue.push(to);
        }
      }
    }
    return this.level[sink]! >= 0;
  }

  /** One path to the sink along rising distances, without recursion: paths may be long. */
  private push(source: number, sink: number, spend: (steps: number) => void): number {
    const path: number[] = [];
    let at = source;
    while (at !== sink) {
      spend(1);
      const edges = this.edgesOf[at]!;
      let found = -1;
      for (; this.next[at]! < edges.length; this.next[at]!++) {
        const edge = edges[this.next[at]!]!;
        if (this.room[edge]! > 0 && this.level[this.to[edge]!] === this.level[at]! + 1) {
          found = edge;
          break;
        }
      }
      if (found >= 0) {
        path.push(found);
        at = this.to[found]!;
      } else {
        const back = path.pop();
        if (back === undefined) return 0;
        at = this.to[back ^ 1]!;
        this.next[at]!++;
      }
    }
    const amount = path.reduce((least, edge) => Math.min(least, this.room[edge]!), Infinity);
    for (const edge of path) {
      this.room[edge]! -= amount;
      this.room[edge ^ 1]! += amount;
    }
    return amount;
  }
}

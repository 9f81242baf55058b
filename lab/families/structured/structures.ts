// The structures of the family: what a legal input is, as a validator in Python, and an expert's generator.
import type { RandomStream } from '../../../core/random.js';
import type { Split } from '../../../core/schema/problem.js';
import type { Value } from '../../../core/schema/value.js';

export interface Structure {
  name: string;
  split: Split; // test structures are not seen in training
  rule: string; // what descriptions say about the input
  validator: string;
  draw(random: RandomStream): Value[]; // legal, of all sizes, with the shapes that an expert would try
}

const BRACKETS: Structure = {
  name: 'brackets',
  split: 'train',
  rule: 's is a balanced string of the brackets ()[]{}, at most 40 characters long.',
  validator: `def validator(s):
    if type(s) is not str or len(s) > 40:
        return False
    pairs = {")": "(", "]": "[", "}": "{"}
    open_ones = []
    for c in s:
        if c in "([{":
            open_ones.append(c)
        elif c not in pairs or not open_ones or open_ones.pop() != pairs[c]:
            return False
    return not open_ones`,
  draw: (random) => [brackets(random, random.choice([0, 1, 2, 3, 6, 12, 20]))],
};

function brackets(random: RandomStream, pairs: number): string {
  if (pairs === 0) return '';
  const [open, close] = random.choice(['()', '[]', '{}']);
  const inside = random.choice([0, pairs - 1, random.int(0, pairs - 1)]); // flat, nested, mixed
  return `${open}${brackets(random, inside)}${close}${brackets(random, pairs - 1 - inside)}`;
}

const DATE: Structure = {
  name: 'date',
  split: 'train',
  rule: 'd is a date of the Gregorian calendar between 1600 and 2399, written YYYY-MM-DD.',
  validator: `def validator(d):
    if type(d) is not str or len(d) != 10 or d[4] != "-" or d[7] != "-":
        return False
    parts = [d[:4], d[5:7], d[8:]]
    if not all(c in "0123456789" for part in parts for c in part):
        return False
    y, m, n = [int(part) for part in parts]
    if not (1600 <= y <= 2399 and 1 <= m <= 12):
        return False
    leap = y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)
    return 1 <= n <= [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][m - 1]`,
  draw: (random) => {
    const year = random.choice([1600, 1700, 1900, 2000, 2023, 2024, 2100, random.int(1600, 2399)]);
    const month = random.choice([1, 2, 2, 3, 12, random.int(1, 12)]);
    const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
    const day = random.choice([1, last, last - 1, random.int(1, last)]);
    return [`${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`];
  },
};

const SORTED: Structure = {
  name: 'sorted',
  split: 'train',
  rule: 'xs is a strictly increasing list of at most 20 integers, all within -999 and 999; t is an integer within -2000 and 2000.',
  validator: `def validator(xs, t):
    if type(xs) is not list or len(xs) > 20 or type(t) is not int or not -2000 <= t <= 2000:
        return False
    if not all(type(x) is int and -999 <= x <= 999 for x in xs):
        return False
    return all(a < b for a, b in zip(xs, xs[1:]))`,
  draw: (random) => {
    const count = random.choice([0, 1, 2, 3, 5, 8, 20]);
    const wide = random.choice([10, 100, 999]);
    const drawn = Array.from({ length: count }, () => random.int(-wide, wide));
    const xs = [...new Set(drawn)].sort((a, b) => a - b);
    const near = xs.length === 0 ? 0 : random.choice([xs[0]!, xs.at(-1)!, random.choice(xs)]);
    const sum = xs.length < 2 ? 0 : random.choice([xs[0]! + xs.at(-1)!, xs[0]! + xs[1]!, xs.at(-1)! + xs.at(-2)!]);
    return [xs, random.choice([near, near - 1, near + 1, sum, random.int(-wide, wide)])];
  },
};

const INTERVALS: Structure = {
  name: 'intervals',
  split: 'test',
  rule: 'spans is a list of at most 12 intervals [a, b] with 0 <= a <= b <= 999, in order; an interval begins after the end of the one before.',
  validator: `def validator(spans):
    if type(spans) is not list or len(spans) > 12:
        return False
    end = -1
    for span in spans:
        if type(span) is not list or len(span) != 2 or not all(type(x) is int for x in span):
            return False
        a, b = span
        if not end < a <= b <= 999:
            return False
        end = b
    return True`,
  draw: (random) => {
    const count = random.choice([0, 1, 2, 3, 6, 12]);
    const wide = random.choice([3, 20, 70]);
    const spans: number[][] = [];
    let at = random.choice([0, random.int(0, 20)]);
    for (let i = 0; i < count; i++) {
      const length = random.choice([0, 1, random.int(0, wide)]);
      if (at + length > 999) break;
      spans.push([at, at + length]);
      at += length + random.choice([1, 2, random.int(1, wide)]);
    }
    return [spans];
  },
};

const TREE: Structure = {
  name: 'tree',
  split: 'test',
  rule: 'parents describes a tree of 1 to 20 nodes: parents[0] is -1, and parents[i] is the parent of node i, a node before i.',
  validator: `def validator(parents):
    if type(parents) is not list or not 1 <= len(parents) <= 20 or not all(type(p) is int for p in parents):
        return False
    return parents[0] == -1 and all(0 <= p < i for i, p in enumerate(parents) if i > 0)`,
  draw: (random) => {
    const count = random.choice([1, 2, 3, 5, 9, 20]);
    const shape = random.choice(['chain', 'star', 'binary', 'any']);
    const parents = Array.from({ length: count }, (_, i) => {
      if (i === 0) return -1;
      if (shape === 'chain') return random.uniform() < 0.8 ? i - 1 : random.int(0, i - 1);
      if (shape === 'star') return random.uniform() < 0.8 ? 0 : random.int(0, i - 1);
      return shape === 'binary' ? Math.floor((i - 1) / 2) : random.int(0, i - 1);
    });
    return [parents];
  },
};

const GRAPH: Structure = {
  name: 'graph',
  split: 'test',
  rule: 'edges connect all nodes 0 to n-1, n at most 10: a list of pairs [u, v] with u < v, none of them twice.',
  validator: `def validator(n, edges):
    if type(n) is not int or not 1 <= n <= 10 or type(edges) is not list:
        return False
    seen = set()
    for edge in edges:
        if type(edge) is not list or len(edge) != 2 or not all(type(x) is int for x in edge):
            return False
        u, v = edge
        if not 0 <= u < v < n or (u, v) in seen:
            return False
        seen.add((u, v))
    reached, work = {0}, [0]
    while work:
        x = work.pop()
        for u, v in seen:
            for y in ((v,) if u == x else (u,) if v == x else ()):
                if y not in reached:
                    reached.add(y)
                    work.append(y)
    return len(reached) == n`,
  draw: (random) => {
    const n = random.choice([1, 2, 3, 4, 6, 10]);
    const edges = new Map<string, number[]>();
    const add = (u: number, v: number): void => {
      if (u !== v) edges.set(`${Math.min(u, v)} ${Math.max(u, v)}`, [Math.min(u, v), Math.max(u, v)]);
    };
    const shape = random.choice(['path', 'star', 'any']);
    const names = random.shuffle(Array.from({ length: n }, (_, i) => i));
    for (let i = 1; i < n; i++) {
      const to = shape === 'path' ? i - 1 : shape === 'star' ? 0 : random.int(0, i - 1);
      add(names[i]!, names[to]!);
    }
    for (let extra = random.choice([0, 1, 3, n * n]); extra > 0; extra--)
      add(random.int(0, n - 1), random.int(0, n - 1));
    if (random.uniform() < 0.3) add(names[0]!, names[n - 1]!); // a cycle
    return [n, random.shuffle([...edges.values()])];
  },
};

export const STRUCTURES = [BRACKETS, DATE, SORTED, INTERVALS, TREE, GRAPH] as const;

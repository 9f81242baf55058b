// The problems of the family: three functions of each structure, with a reference in Python and happy-path inputs. Frozen
// wrong programs are the references with one of the edits below, and mutants of the references that nobody has chosen
// (sandbox/mutate.py), as far as they pass on these inputs and are wrong on another legal one.
import type { Value } from '../../../core/schema/value.js';
import { STRUCTURES, type Structure } from './structures.js';

export interface StructuredProblem {
  id: string;
  structure: Structure;
  description: string;
  signature: string;
  reference: string;
  known: Value[][]; // inputs of the baseline tests: legal, of medium size, without edge cases
  edits: [from: string, to: string][]; // of the reference: mistakes that people make
}

type Own = Pick<StructuredProblem, 'description' | 'reference' | 'known' | 'edits'>;

const PROBLEMS: Record<string, Record<string, Own>> = {
  brackets: {
    depth: {
      description: 'Return the greatest depth at which a square bracket opens, counted from 1, or 0 if there is none.',
      known: [['([])'], ['{}[()]'], ['(([]){})']],
      reference: `def solve(s):
    depth = 0
    best = 0
    for c in s:
        if c in "([{":
            depth += 1
            if c == "[" and depth > best:
                best = depth
        else:
            depth -= 1
    return best`,
      edits: [
        ['depth += 1', 'depth = min(depth + 1, 3)'],
        ['if c == "["', 'if c == "[" and depth < 5'],
        ['if c == "["', 'if c == "[" or depth > 5'],
        ['best = depth\n', 'best = min(depth, 3)\n'],
      ],
    },
    run: {
      description: 'Return how many pairs the longest row of pairs beside each other has, at any depth.',
      known: [['()[]{}'], ['(()())'], ['[()][]']],
      reference: `def solve(s):
    rows = [0]
    best = 0
    for c in s:
        if c in "([{":
            rows.append(0)
        else:
            rows.pop()
            rows[-1] += 1
            if rows[-1] > best:
                best = rows[-1]
    return best`,
      edits: [
        ['rows[-1] += 1', 'rows[-1] = min(rows[-1] + 1, 4)'],
        ['rows.append(0)', 'rows.append(rows[-1] if len(rows) > 4 else 0)'],
        ['if rows[-1] > best', 'if rows[-1] > best and len(rows) < 4'],
      ],
    },
    wide: {
      description:
        'Return the length of the longest substring that is one pair with everything in it, but only if it contains all three kinds of brackets; else -1.',
      known: [['([{}])'], ['()'], ['{[()]}()']],
      reference: `def solve(s):
    opened = []
    best = -1
    for i, c in enumerate(s):
        if c in "([{":
            opened.append(i)
        else:
            start = opened.pop()
            part = s[start:i + 1]
            if "(" in part and "[" in part and "{" in part:
                best = max(best, len(part))
    return best`,
      edits: [
        ['best = max(best, len(part))', 'best = len(part) if best < 0 else best'],
        ['and "{" in part', 'and "{" in part and len(part) < 12'],
        ['and "[" in part ', ''],
        ['best = max(best, len(part))', 'best = max(best, len(part) if start else 0)'],
      ],
    },
  },
  date: {
    'day-of-year': {
      description: 'Return the number of the day in its year, 1 to 366.',
      known: [['2021-03-14'], ['2022-07-09'], ['2023-10-20']],
      reference: `def solve(d):
    y, m, n = int(d[:4]), int(d[5:7]), int(d[8:])
    days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    if y % 4 == 0 and (y % 100 != 0 or y % 400 == 0):
        days[1] = 29
    total = n
    for i in range(m - 1):
        total += days[i]
    return total`,
      edits: [
        ['(y % 100 != 0 or y % 400 == 0)', 'y % 100 != 0'],
        ['(y % 100 != 0 or y % 400 == 0)', 'True'],
        ['total += days[i]', 'total += days[i] if i < 10 else 31'],
      ],
    },
    next: {
      description: 'Return the date of the next day, in the same form.',
      known: [['2021-03-14'], ['2022-07-09'], ['2023-10-20']],
      reference: `def solve(d):
    y, m, n = int(d[:4]), int(d[5:7]), int(d[8:])
    last = 31
    if m == 2:
        last = 29 if y % 4 == 0 and (y % 100 != 0 or y % 400 == 0) else 28
    elif m in (4, 6, 9, 11):
        last = 30
    n += 1
    if n > last:
        n = 1
        m += 1
        if m > 12:
            m = 1
            y += 1
    return "%d-%02d-%02d" % (y, m, n)`,
      edits: [
        ['(y % 100 != 0 or y % 400 == 0)', 'y % 100 != 0'],
        ['(y % 100 != 0 or y % 400 == 0)', 'True'],
        ['m in (4, 6, 9, 11)', 'm in (4, 6, 9)'],
      ],
    },
    left: {
      description: 'Return how many days of its month follow the date, or -1 on the last day of a leap year.',
      known: [['2021-03-14'], ['2022-07-09'], ['2023-10-20']],
      reference: `def solve(d):
    y, m, n = int(d[:4]), int(d[5:7]), int(d[8:])
    leap = y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)
    if leap and m == 12 and n == 31:
        return -1
    if m == 2:
        last = 29 if leap else 28
    else:
        last = 30 if m in (4, 6, 9, 11) else 31
    return last - n`,
      edits: [
        ['(y % 100 != 0 or y % 400 == 0)', 'y % 100 != 0'],
        ['(y % 100 != 0 or y % 400 == 0)', 'True'],
        ['leap and m == 12', 'm == 12'],
      ],
    },
  },
  sorted: {
    find: {
      description: 'Return the index of t in xs, or -1 if it is not there.',
      known: [
        [[3, 8, 20], 8],
        [[-5, 1, 4, 9], 2],
        [[1, 2, 6, 30, 41], 30],
      ],
      reference: `def solve(xs, t):
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] < t:
            low = middle + 1
        else:
            high = middle
    if low < len(xs) and xs[low] == t:
        return low
    return -1`,
      edits: [
        ['low, high = 0, len(xs)', 'low, high = 0, len(xs) - 1'],
        ['low, high = 0, len(xs)', 'low, high = 0, min(len(xs), 8)'],
        ['if low < len(xs)', 'if t and low < len(xs)'],
      ],
    },
    pairs: {
      description: 'Return the number of pairs of different elements whose sum is t.',
      known: [
        [[3, 8, 20], 11],
        [[-5, 1, 4, 9], 4],
        [[1, 2, 6, 30, 41], 8],
      ],
      reference: `def solve(xs, t):
    i, j = 0, len(xs) - 1
    count = 0
    while i < j:
        total = xs[i] + xs[j]
        if total == t:
            count += 1
            i += 1
            j -= 1
        elif total < t:
            i += 1
        else:
            j -= 1
    return count`,
      edits: [
        ['i, j = 0, len(xs) - 1', 'i, j = 0, min(len(xs), 10) - 1'],
        ['count += 1\n            i', 'count = min(count + 1, 2)\n            i'],
        ['elif total < t:', 'elif total < t or total < 0:'],
      ],
    },
    gap: {
      description:
        'Return the smallest difference of neighbours that are on different sides of t (one less than t, one greater), or 0 if there are none.',
      known: [
        [[3, 8, 20], 10],
        [[-5, 1, 4, 9], 2],
        [[1, 2, 6, 30, 41], 20],
      ],
      reference: `def solve(xs, t):
    best = 0
    for a, b in zip(xs, xs[1:]):
        if a < t and t < b:
            if best == 0 or b - a < best:
                best = b - a
    return best`,
      edits: [
        ['t < b:', 't < b and a >= 0:'],
        ['zip(xs, xs[1:])', 'zip(xs[:-2], xs[1:])'],
        ['zip(xs, xs[1:])', 'zip(xs[:6], xs[1:])'],
        ['if best == 0 or b - a < best', 'if best == 0 or b - a > best'],
      ],
    },
  },
  intervals: {
    covered: {
      description: 'Return how many whole numbers are in the intervals of more than one number.',
      known: [
        [
          [
            [1, 4],
            [6, 9],
          ],
        ],
        [
          [
            [0, 5],
            [10, 12],
            [20, 30],
          ],
        ],
        [[[3, 8]]],
      ],
      reference: `def solve(spans):
    total = 0
    for a, b in spans:
        if b > a:
            total += b - a + 1
    return total`,
      edits: [
        ['if b > a:', 'if b > a + 1:'],
        ['total += b - a + 1', 'total += min(b - a + 1, 60)'],
        ['for a, b in spans:', 'for a, b in spans[:8]:'],
      ],
    },
    gaps: {
      description: 'Return the length of the longest gap between neighbours, 0 if there is no number between any two.',
      known: [
        [
          [
            [1, 4],
            [6, 9],
          ],
        ],
        [
          [
            [0, 5],
            [10, 12],
            [20, 30],
          ],
        ],
        [
          [
            [3, 8],
            [15, 18],
          ],
        ],
      ],
      reference: `def solve(spans):
    best = 0
    for i in range(1, len(spans)):
        gap = spans[i][0] - spans[i - 1][1] - 1
        if gap > best:
            best = gap
    return best`,
      edits: [
        ['range(1, len(spans))', 'range(1, min(len(spans), 7))'],
        ['gap = spans[i][0]', 'gap = 0 if spans[i][0] == spans[i][1] else spans[i][0]'],
        ['if gap > best', 'if gap > best and spans[i - 1][0] > 0'],
      ],
    },
    joined: {
      description:
        'Join intervals whose gap has no number (one begins right after the other ends). Return the number of intervals that remain, plus 100 if one of them has at least 50 numbers.',
      known: [
        [
          [
            [1, 4],
            [6, 9],
          ],
        ],
        [
          [
            [0, 5],
            [10, 12],
            [20, 30],
          ],
        ],
        [
          [
            [3, 8],
            [15, 18],
          ],
        ],
      ],
      reference: `def solve(spans):
    joined = []
    for a, b in spans:
        if joined and joined[-1][1] + 1 == a:
            joined[-1][1] = b
        else:
            joined.append([a, b])
    long = 0
    for a, b in joined:
        if b - a + 1 >= 50:
            long = 100
    return len(joined) + long`,
      edits: [
        ['joined[-1][1] = b', 'joined[-1] = [a, b]'],
        ['joined[-1][1] + 1 == a', 'joined[-1][1] + 1 == a and a < b'],
        ['for a, b in spans', 'for a, b in spans[:9]'],
      ],
    },
  },
  tree: {
    height: {
      description: 'Return the number of nodes on the longest way from the root to a leaf.',
      known: [[[-1, 0, 0, 1]], [[-1, 0, 1, 1, 0]], [[-1, 0, 0]]],
      reference: `def solve(parents):
    depth = [1]
    for p in parents[1:]:
        depth.append(depth[p] + 1)
    return max(depth)`,
      edits: [
        ['max(depth)', 'max(depth[:12])'],
        ['depth[p] + 1', 'min(depth[p] + 1, 5)'],
        ['return max(depth)', 'return max(depth) if len(parents) > 1 else 0'],
        ['depth[p] + 1', 'depth[p] + (1 if p < 6 else 0)'],
      ],
    },
    leaves: {
      description:
        'Return the number of leaves whose parent has exactly one child. The root alone counts as no such leaf.',
      known: [[[-1, 0, 0, 1]], [[-1, 0, 1, 1, 0]], [[-1, 0, 0]]],
      reference: `def solve(parents):
    children = [0] * len(parents)
    for p in parents[1:]:
        children[p] += 1
    count = 0
    for i in range(1, len(parents)):
        if children[i] == 0 and children[parents[i]] == 1:
            count += 1
    return count`,
      edits: [
        ['children[parents[i]] == 1', 'children[parents[i]] == 1 and parents[i] > 0'],
        ['range(1, len(parents))', 'range(1, min(len(parents), 9))'],
        ['count += 1', 'count = 1'],
      ],
    },
    heavy: {
      description:
        'Return the smallest node, other than the root, whose subtree has more than half of all nodes, or -1.',
      known: [[[-1, 0, 0, 1]], [[-1, 0, 1, 1, 0]], [[-1, 0, 0]]],
      reference: `def solve(parents):
    size = [1] * len(parents)
    for i in range(len(parents) - 1, 0, -1):
        size[parents[i]] += size[i]
    for i in range(1, len(parents)):
        if 2 * size[i] > len(parents):
            return i
    return -1`,
      edits: [
        ['return i\n', 'return i if i < 3 else -1\n'],
        ['2 * size[i] > len(parents)', '2 * size[i] > len(parents) and i < 5'],
        ['2 * size[i] > len(parents)', '2 * size[i] > len(parents) + 1'],
        ['2 * size[i] > len(parents)', '2 * size[i] >= len(parents)'],
      ],
    },
  },
  graph: {
    distance: {
      description: 'Return the number of edges on the shortest way from node 0 to node n-1.',
      known: [
        [
          4,
          [
            [0, 1],
            [1, 2],
            [2, 3],
          ],
        ],
        [
          3,
          [
            [0, 1],
            [0, 2],
          ],
        ],
        [
          5,
          [
            [0, 1],
            [1, 2],
            [2, 3],
            [3, 4],
            [0, 4],
          ],
        ],
      ],
      reference: `def solve(n, edges):
    far = [-1] * n
    far[0] = 0
    work = [0]
    for x in work:
        for u, v in edges:
            y = -1
            if u == x:
                y = v
            elif v == x:
                y = u
            if y >= 0 and far[y] < 0:
                far[y] = far[x] + 1
                work.append(y)
    return far[n - 1]`,
      edits: [
        ['work.append(y)', 'work.append(y) if far[y] < 4 else None'],
        ['elif v == x:', 'elif v == x and u > 0:'],
        ['return far[n - 1]', 'return far[n - 1] if n > 1 else 1'],
        ['elif v == x:', 'elif v == x and x < 5:'],
      ],
    },
    cycles: {
      description:
        'Return how many edges can be left out at most such that all nodes are still connected, but 9 if it is more than 9.',
      known: [
        [
          4,
          [
            [0, 1],
            [1, 2],
            [2, 3],
          ],
        ],
        [
          3,
          [
            [0, 1],
            [0, 2],
            [1, 2],
          ],
        ],
        [
          5,
          [
            [0, 1],
            [1, 2],
            [2, 3],
            [3, 4],
            [0, 4],
          ],
        ],
      ],
      reference: `def solve(n, edges):
    spare = len(edges) - (n - 1)
    if spare > 9:
        return 9
    return spare`,
      edits: [
        ['spare > 9', 'spare > 12'],
        ['return spare', 'return spare if n < 7 else min(spare, 3)'],
        ['len(edges) - (n - 1)', 'len(edges) - max(1, n - 1)'],
      ],
    },
    'two-sides': {
      description: 'Return True if the nodes can be put on two sides such that every edge has a node on each side.',
      known: [
        [
          4,
          [
            [0, 1],
            [1, 2],
            [2, 3],
          ],
        ],
        [
          3,
          [
            [0, 1],
            [0, 2],
          ],
        ],
        [
          3,
          [
            [0, 1],
            [0, 2],
            [1, 2],
          ],
        ],
      ],
      reference: `def solve(n, edges):
    side = [0] * n
    side[0] = 1
    work = [0]
    for x in work:
        for u, v in edges:
            if x == u or x == v:
                y = u + v - x
                if side[y] == 0:
                    side[y] = -side[x]
                    work.append(y)
                elif side[y] == side[x]:
                    return False
    return True`,
      edits: [
        ['elif side[y] == side[x]:', 'elif side[y] == side[x] and len(edges) < 6:'],
        ['elif side[y] == side[x]:', 'elif side[y] == side[x] and n != 5:'],
        ['for x in work:', 'for x in list(work):'],
        ['if x == u or x == v:', 'if x == u or (x == v and u == 0):'],
      ],
    },
  },
};

export const STRUCTURED: readonly StructuredProblem[] = STRUCTURES.flatMap((structure) =>
  Object.entries(PROBLEMS[structure.name]!).map(([name, own]): StructuredProblem => {
    const parameters = /def validator\((.*)\)/.exec(structure.validator)![1]!;
    const description = `${own.description} ${structure.rule}`;
    return { id: `${structure.name}-${name}`, structure, ...own, description, signature: `def solve(${parameters}):` };
  }),
);

// Operations on strings.
import { type Condition, crashing, mod, type Operation, operation, runLengths } from './operation.js';

type Of = Condition<string>;
const isLower = (c: string): boolean => c >= 'a' && c <= 'z';
const isUpper = (c: string): boolean => c >= 'A' && c <= 'Z';
const isLetter = (c: string): boolean => isLower(c) || isUpper(c);
const isDigit = (c: string): boolean => c >= '0' && c <= '9';
const isVowel = (c: string): boolean => 'aeiouAEIOU'.includes(c);
const swapCase = (c: string): string => (isLower(c) ? c.toUpperCase() : c.toLowerCase());

const CONDITIONS: Of[] = [
  {
    name: 'vowel',
    words: 'vowels | among a, e, i, o, u | one of the five vowels',
    care: 'in upper case too',
    python: 'c in "aeiouAEIOU"',
    holds: isVowel,
    wrong: [(c) => isVowel(c) && isLower(c), (c) => isVowel(c) || 'yY'.includes(c)],
  },
  {
    name: 'consonant',
    words: 'consonants | letters but not vowels | letters other than a, e, i, o, u',
    care: 'upper case too; digits and spaces are not',
    python: 'c.isalpha() and c not in "aeiouAEIOU"',
    holds: (c) => isLetter(c) && !isVowel(c),
    wrong: [(c) => !isVowel(c), (c) => isLetter(c) && !(isVowel(c) && isLower(c)), (c) => isLower(c) && !isVowel(c)],
  },
  {
    name: 'upper',
    words: 'uppercase letters | capital letters | letters in upper case',
    care: 'digits and spaces are not',
    python: 'c.isupper()',
    holds: isUpper,
    wrong: [(c) => c === c.toUpperCase(), (c) => isUpper(c) && !isVowel(c)],
  },
  {
    name: 'lower',
    words: 'lowercase letters | small letters | letters in lower case',
    care: 'digits and spaces are not',
    python: 'c.islower()',
    holds: isLower,
    wrong: [(c) => c === c.toLowerCase(), isLetter],
  },
  {
    name: 'digit',
    words: 'digits | digits from 0 to 9 | decimal digits',
    care: '0 is one',
    python: 'c.isdigit()',
    holds: isDigit,
    wrong: [(c) => isDigit(c) && c !== '0', (c) => isDigit(c) && c !== '9'],
  },
  {
    name: 'letter',
    words: 'letters | letters of the alphabet | alphabetic characters',
    care: 'in upper case too, but no digits',
    python: 'c.isalpha()',
    holds: isLetter,
    wrong: [isLower, (c) => isLetter(c) || isDigit(c)],
  },
  ...['a', 'e'].map(
    (letter): Of => ({
      name: 'equal',
      parameter: letter,
      words: `the letter ${letter} | equal to the letter ${letter} | an ${letter}`,
      care: 'in upper case too',
      python: `c.lower() == "${letter}"`,
      holds: (c) => c.toLowerCase() === letter,
      wrong: [(c) => c === letter],
    }),
  ),
];

/** Operations that keep, remove, count, locate or mask the characters that satisfy a condition. */
const conditional = ({ name, words, care, python: test, holds, wrong, parameter }: Of): Operation[] => {
  const w = words.split(' | ');
  type Test = (c: string) => boolean;
  const each = <R>(make: (test: Test) => R): R[] => wrong.map(make);
  const keep = (t: Test) => (s: string) => [...s].filter(t).join('');
  const remove = (t: Test) => keep((c) => !t(c));
  const count = (t: Test) => (s: string) => keep(t)(s).length;
  const first = (t: Test) => (s: string) => [...s].findIndex(t);
  const mask = (t: Test) => (s: string) => [...s].map((c) => (t(c) ? '*' : c)).join('');
  return [
    operation(`keep-${name}`, 'text', 'text', {
      parameter,
      words: `keep only the characters that are ${w[0]} | remove all characters except those that are ${w[1]} | filter the string so that only characters that are ${w[2]} remain`,
      care,
      python: `"".join(c for c in $ if ${test})`,
      run: keep(holds),
      slips: each(keep),
    }),
    operation(`remove-${name}`, 'text', 'text', {
      parameter,
      words: `remove the characters that are ${w[0]} | drop all characters that are ${w[1]} | delete all characters that are ${w[2]}`,
      care,
      python: `"".join(c for c in $ if not (${test}))`,
      run: remove(holds),
      slips: each(remove),
    }),
    operation(`count-${name}`, 'text', 'number', {
      parameter,
      words: `count the characters that are ${w[0]} | find how many characters are ${w[1]} | determine the number of characters that are ${w[2]}`,
      care,
      python: `sum(1 for c in $ if ${test})`,
      run: count(holds),
      slips: [...each(count), (s) => new Set(keep(holds)(s)).size],
    }),
    operation(`index-${name}`, 'text', 'number', {
      parameter,
      words: `find the index of the first of the characters that are ${w[0]} | find the first position, counted from 0, of a character among those that are ${w[1]} | locate the leftmost of the characters that are ${w[2]}, counting from 0`,
      care: `${care}; the answer is -1 if there is none`,
      python: `next((i for i, c in enumerate($) if ${test}), -1)`,
      run: first(holds),
      slips: [
        ...each(first),
        (s) => (first(holds)(s) < 0 ? undefined : first(holds)(s)),
        (s) => Math.max(0, first(holds)(s)),
      ],
    }),
    operation(`mask-${name}`, 'text', 'text', {
      parameter,
      words: `replace the characters that are ${w[0]} by * | put a * in place of all characters that are ${w[1]} | hide the characters that are ${w[2]}, each behind a *`,
      care,
      python: `"".join("*" if ${test} else c for c in $)`,
      run: mask(holds),
      slips: each(mask),
    }),
  ];
};

const wordsOf = (s: string): string[] => s.split(' ').filter((word) => word !== '');
const distinct = (s: string): string => [...new Set(s)].join('');
const letters = (s: string, change: (c: string, i: number) => string): string => [...s].map(change).join('');
const longest = (words: string[]): string => words.reduce((a, b) => (b.length > a.length ? b : a), '');
const digitSum = (s: string): number => [...s].reduce((total, c) => total + (isDigit(c) ? Number(c) : 0), 0);
const chars = (s: string): string[] => [...s];
const runs = (s: string): [string, number][] => {
  const starts = chars(s).filter((c, i) => c !== s[i - 1]);
  return runLengths(chars(s)).map((length, i) => [starts[i]!, length]);
};
const shift = (s: string, k: number, alphabets: readonly string[]): string =>
  letters(s, (c) => {
    const start = alphabets.find((a) => (a === 'a' ? isLower(c) : isUpper(c)));
    return start ? String.fromCharCode(mod(c.charCodeAt(0) - start.charCodeAt(0) + k, 26) + start.charCodeAt(0)) : c;
  });
const undo = (s: string, onEmpty: (c: string) => string | undefined): string | undefined => {
  let out = '';
  for (const c of s) {
    if (c !== '#') out += c;
    else if (out !== '') out = out.slice(0, -1);
    else if (onEmpty(c) === undefined) return undefined;
  }
  return out;
};
const cancel = (s: string): string => {
  let out = '';
  for (const c of s) out = out.endsWith(c) ? out.slice(0, -1) : out + c;
  return out;
};

const SIMPLE: Operation[] = [
  operation('words', 'text', 'number', {
    words: 'count the words | find how many words there are | determine the number of words',
    care: 'words are separated by one or more spaces; an empty string has 0',
    python: 'len($.split())',
    run: (s) => wordsOf(s).length,
    slips: [(s) => s.split(' ').length, (s) => (s === '' ? 0 : s.split(' ').length), (s) => wordsOf(s).length || 1],
  }),
  operation('longest-word-length', 'text', 'number', {
    words:
      'find the length of the longest word | measure the longest word | compute how many characters the longest word has',
    care: 'words are separated by spaces; 0 if there are none',
    python: 'max((len(word) for word in $.split()), default=0)',
    run: (s) => longest(wordsOf(s)).length,
    slips: [
      (s) => (wordsOf(s).length ? longest(wordsOf(s)).length : undefined),
      (s) => (wordsOf(s).length ? longest(wordsOf(s)).length : -1),
    ],
  }),
  operation('distinct-characters', 'text', 'number', {
    words:
      'count the different characters | find how many distinct characters there are | count the characters, each only once',
    care: 'upper and lower case are different; a space counts too',
    python: 'len(set($))',
    run: (s) => distinct(s).length,
    slips: [(s) => distinct(s.toLowerCase()).length, (s) => distinct(s.replaceAll(' ', '')).length],
  }),
  operation('digit-sum', 'text', 'number', {
    words: 'add up the digits | compute the sum of all digits | total the digits',
    care: 'each digit alone: "12" gives 3; 0 without digits',
    python: 'sum(int(c) for c in $ if c.isdigit())',
    run: digitSum,
    slips: [
      (s) => (s.match(/\d+/g) ?? []).reduce((total, n) => total + Number(n), 0),
      (s) => (/\d/.test(s) ? digitSum(s) : -1),
    ],
  }),
  operation('swap-case', 'text', 'text', {
    words:
      'swap the case of every letter | make uppercase letters lowercase and lowercase letters uppercase | invert the case of the letters',
    care: 'other characters stay',
    python: '$.swapcase()',
    run: (s) => letters(s, swapCase),
    slips: [(s) => s.toUpperCase(), (s) => letters(s, (c) => (isLower(c) ? c.toUpperCase() : c))],
  }),
  operation('capital', 'text', 'text', {
    words:
      'make the first character uppercase | capitalize the first character | turn the first character into upper case',
    care: 'all others stay as they are; an empty string stays empty',
    python: '$[:1].upper() + $[1:]',
    run: (s) => s.slice(0, 1).toUpperCase() + s.slice(1),
    slips: [
      (s) => s.slice(0, 1).toUpperCase() + s.slice(1).toLowerCase(),
      crashing((s) => s.slice(0, 1).toUpperCase() + s.slice(1)),
    ],
  }),
  operation('reverse-words', 'text', 'text', {
    words: 'put the words in reverse order | reverse the order of the words | list the words from last to first',
    care: 'separated by single spaces, without spaces at the ends',
    python: '" ".join($.split()[::-1])',
    run: (s) => wordsOf(s).reverse().join(' '),
    slips: [(s) => s.split(' ').reverse().join(' '), (s) => s.trim().split(' ').reverse().join(' ')],
  }),
  operation('squeeze', 'text', 'text', {
    words:
      'replace each run of equal characters by one of them | collapse repeated neighbours into one character | remove every character that equals the one right before it',
    care: 'upper and lower case are different',
    python: '"".join(c for i, c in enumerate($) if i == 0 or c != $[i - 1])',
    run: (s) =>
      runs(s)
        .map(([c]) => c)
        .join(''),
    slips: [
      distinct,
      (s) =>
        chars(s)
          .filter((c, i) => c.toLowerCase() !== s[i - 1]?.toLowerCase())
          .join(''),
    ],
  }),
  operation('distinct', 'text', 'text', {
    words: 'remove repeated characters | drop duplicate characters | keep each character only once',
    care: 'the first of them stays; upper and lower case are different',
    python: '"".join(dict.fromkeys($))',
    run: distinct,
    slips: [
      (s) =>
        runs(s)
          .map(([c]) => c)
          .join(''),
      (s) =>
        chars(s)
          .filter((c, i) => s.toLowerCase().indexOf(c.toLowerCase()) === i)
          .join(''),
      (s) =>
        chars(distinct(chars(s).reverse().join('')))
          .reverse()
          .join(''),
    ],
  }),
  ...[3, 5].map((k) =>
    operation('take', 'text', 'text', {
      parameter: k,
      words: `keep the last ${k} characters | take ${k} characters from the end | keep only the final ${k} characters`,
      care: 'keep all if there are fewer',
      python: `$[-${k}:]`,
      run: (s) => s.slice(-k),
      slips: [(s) => (s.length < k ? undefined : s.slice(-k)), (s) => (s.length < k ? '' : s.slice(-k))],
    }),
  ),
  operation('every-second', 'text', 'text', {
    words:
      'keep every second character, starting with the first | keep the characters at even indices | keep the 1st, 3rd, 5th character and so on',
    care: 'a single character stays',
    python: '$[::2]',
    run: (s) =>
      chars(s)
        .filter((_, i) => i % 2 === 0)
        .join(''),
    slips: [
      (s) =>
        chars(s.slice(0, -1))
          .filter((_, i) => i % 2 === 0)
          .join(''),
      (s) =>
        s.length < 2
          ? ''
          : chars(s)
              .filter((_, i) => i % 2 === 0)
              .join(''),
    ],
  }),
  operation('mirror', 'text', 'text', {
    words:
      'append the reversed string without repeating the last character | extend it to a palindrome around its last character | add all characters but the last in reverse order at the end',
    care: '"ab" becomes "aba"; an empty string stays empty',
    python: '$ + $[:-1][::-1]',
    run: (s) => s + chars(s.slice(0, -1)).reverse().join(''),
    slips: [
      crashing((s) => s + chars(s.slice(0, -1)).reverse().join('')),
      (s) => (s.length < 2 ? s + s : s + chars(s.slice(0, -1)).reverse().join('')),
    ],
  }),
  operation('word-lengths', 'text', 'list', {
    words:
      'list the lengths of the words | make a list of the length of each word | replace the words by a list of their lengths',
    care: 'words are separated by one or more spaces; no words give an empty list',
    python: '[len(word) for word in $.split()]',
    run: (s) => wordsOf(s).map((word) => word.length),
    slips: [
      (s) => s.split(' ').map((word) => word.length),
      (s) => (wordsOf(s).length ? wordsOf(s).map((word) => word.length) : [0]),
    ],
  }),
  operation('digits', 'text', 'list', {
    words:
      'list the digits as integers | make a list of all digits, as integers | collect the digits in a list of integers',
    care: 'each digit alone, zeros too; an empty list without digits',
    python: '[int(c) for c in $ if c.isdigit()]',
    run: (s) => chars(s).filter(isDigit).map(Number),
    slips: [
      (s) => (s.match(/\d+/g) ?? []).map(Number),
      (s) =>
        chars(s)
          .filter(isDigit)
          .map(Number)
          .filter((n) => n > 0),
    ],
  }),
];

const HARD: Operation[] = [
  operation('encode', 'text', 'text', {
    tier: 2,
    words:
      'replace each run of equal characters by the character and the length of the run | encode the string by run lengths | write each group of equal neighbours as the character followed by its count',
    care: '"aab" becomes "a2b1"; upper and lower case are different',
    python: [
      'runs = []',
      'for c in $:',
      '    if runs and runs[-1][0] == c:',
      '        runs[-1][1] += 1',
      '    else:',
      '        runs.append([c, 1])',
      '"".join(f"{c}{n}" for c, n in runs)',
    ],
    run: (s) => runs(s).flat().join(''),
    slips: [
      (s) =>
        runs(s)
          .map(([c, n]) => (n > 1 ? `${c}${n}` : c))
          .join(''),
      (s) =>
        chars(distinct(s))
          .map((c) => c + chars(s).filter((d) => d === c).length)
          .join(''),
      crashing((s) => runs(s).flat().join('')),
    ],
  }),
  ...[2, 5].map((k) =>
    operation('shift', 'text', 'text', {
      tier: 2,
      parameter: k,
      words: `replace each letter by the one ${k} places later in the alphabet | shift every letter ${k} places forward in the alphabet | apply a Caesar cipher with shift ${k}`,
      care: 'after z comes a; the case stays, and so do other characters',
      python: [
        'out = ""',
        'for c in $:',
        '    if c.isalpha():',
        '        start = ord("a") if c.islower() else ord("A")',
        `        c = chr((ord(c) - start + ${k}) % 26 + start)`,
        '    out += c',
        'out',
      ],
      run: (s) => shift(s, k, ['a', 'A']),
      slips: [
        (s) => letters(s, (c) => (isLetter(c) ? String.fromCharCode(c.charCodeAt(0) + k) : c)),
        (s) => shift(s, k, ['a']),
        (s) => shift(s.toLowerCase(), k, ['a']),
      ],
    }),
  ),
  operation('longest-word', 'text', 'text', {
    tier: 2,
    words: 'keep only the longest word | reduce it to its longest word | take the word with the most characters',
    care: 'the first one in a tie; an empty string if there are no words',
    python: 'max($.split(), key=len, default="")',
    run: (s) => longest(wordsOf(s)),
    slips: [(s) => longest(wordsOf(s).reverse()), (s) => (wordsOf(s).length ? longest(wordsOf(s)) : undefined)],
  }),
  operation('words-by-length', 'text', 'text', {
    tier: 2,
    words:
      'order the words from short to long | sort the words by length, shortest first | arrange the words by increasing length',
    care: 'words of one length keep their order; single spaces between them',
    python: '" ".join(sorted($.split(), key=len))',
    run: (s) =>
      wordsOf(s)
        .sort((a, b) => a.length - b.length)
        .join(' '),
    slips: [
      (s) =>
        wordsOf(s)
          .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
          .join(' '),
      (s) =>
        s
          .split(' ')
          .sort((a, b) => a.length - b.length)
          .join(' '),
      (s) =>
        wordsOf(s)
          .reverse()
          .sort((a, b) => a.length - b.length)
          .join(' '),
    ],
  }),
  operation('longest-run', 'text', 'number', {
    tier: 2,
    words:
      'find the length of the longest run of one character | find how often a character occurs in a row at most | measure the longest group of equal neighbours',
    care: '0 for an empty string; upper and lower case are different',
    python: [
      'best = length = 0',
      'for i, c in enumerate($):',
      '    length = length + 1 if i > 0 and c == $[i - 1] else 1',
      '    best = max(best, length)',
      'best',
    ],
    run: (s) => Math.max(0, ...runLengths(chars(s))),
    slips: [
      (s) => Math.max(0, ...runLengths(chars(s.toLowerCase()))),
      (s) => Math.max(1, ...runLengths(chars(s))),
      (s) => Math.max(0, ...runLengths(chars(s).sort())),
    ],
  }),
  operation('run-lengths', 'text', 'list', {
    tier: 2,
    words:
      'list the lengths of the runs of equal characters | list how long each group of equal neighbours is | replace the string by the list of its run lengths',
    care: 'a character without equal neighbours is a run of 1',
    python: [
      'out = []',
      'for i, c in enumerate($):',
      '    if i > 0 and c == $[i - 1]:',
      '        out[-1] += 1',
      '    else:',
      '        out.append(1)',
      'out',
    ],
    run: (s) => runLengths(chars(s)),
    slips: [
      (s) => chars(distinct(s)).map((c) => chars(s).filter((d) => d === c).length),
      (s) => runLengths(chars(s.toLowerCase())),
      crashing((s) => runLengths(chars(s))),
    ],
  }),
  operation('undo', 'text', 'text', {
    tier: 3,
    words:
      'treat # as a backspace key: it deletes the last character that is still there | apply backspaces: each # removes the character kept before it, and itself | process from left to right, where # erases the previous character that remains',
    care: 'a # with nothing before it does nothing',
    python: [
      'out = []',
      'for c in $:',
      '    if c != "#":',
      '        out.append(c)',
      '    elif out:',
      '        out.pop()',
      '"".join(out)',
    ],
    run: (s) => undo(s, (c) => c)!,
    slips: [
      (s) => undo(s, () => undefined),
      (s) => s.replace(/[^#]#/g, '').replaceAll('#', ''),
      (s) => s.replaceAll('#', ''),
    ],
  }),
  operation('cancel', 'text', 'text', {
    tier: 3,
    words:
      'remove two equal neighbours, and repeat until no two neighbours are equal | keep deleting pairs of equal adjacent characters until there are none | let equal adjacent characters cancel each other, again and again',
    care: '"abba" becomes an empty string; "aaa" becomes "a"',
    python: [
      'out = []',
      'for c in $:',
      '    if out and out[-1] == c:',
      '        out.pop()',
      '    else:',
      '        out.append(c)',
      '"".join(out)',
    ],
    run: cancel,
    slips: [
      (s) => s.replace(/(.)\1/g, ''),
      (s) =>
        runs(s)
          .flatMap(([c, n]) => (n > 1 ? [] : [c]))
          .join(''),
      (s) =>
        runs(s)
          .map(([c]) => c)
          .join(''),
    ],
  }),
];

export const TEXT_OPERATIONS: Operation[] = [...CONDITIONS.flatMap(conditional), ...SIMPLE, ...HARD];

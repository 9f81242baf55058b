// Literals of a program that tell where it comes from: values of its tests, which a program that computes its answers need not
// contain.
import type { SyntaxNodeRef } from '@lezer/common';
import type { Value } from '../schema/value.js';
import { itemsOf } from './arithmetic.js';
import { attempt } from './asserts.js';
import { Evaluation } from './evaluation.js';
import { formatValue } from './format.js';
import { parsePython } from './tree.js';

const LITERAL = /^(?:Number|String|ContinuedString|UnaryExpression|(?:Array|Tuple|Set|Dictionary)Expression)$/;
const LEAST = { number: 100, text: 4, items: 3 }; // honest programs also contain smaller values

/** A value and all values inside it, as texts. Equal lists and tuples have the same text. Leaves out small values, see LEAST. */
export function tellingValues(value: Value): string[] {
  if (value === null || typeof value === 'boolean') return [];
  if (typeof value === 'number') return Math.abs(value) >= LEAST.number ? [String(value)] : [];
  if (typeof value === 'string') return value.length >= LEAST.text ? [JSON.stringify(value)] : [];
  const items = allItemsOf(value);
  if (items === undefined) return formatValue(value).length >= LEAST.text ? [formatValue(value)] : [];
  const own = items.length >= LEAST.items ? [`[${items.map(formatValue).join()}]`] : [];
  return [...own, ...items.flatMap(tellingValues)];
}

function allItemsOf(value: Exclude<Value, null | boolean | number | string>): Value[] | undefined {
  if ('s' in value) return value.s;
  return 'd' in value ? value.d.flat() : itemsOf(value);
}

/**
 * The telling values of a program's literals. Leaves out checks and examples: asserts and calls of `entry`. If `entry` is given,
 * also leaves out everything outside of functions and classes.
 */
export function tellingLiterals(code: string, entry?: string): Set<string> {
  const found = new Set<string>();
  const name = entry?.split('.').at(-1);
  let definitions = entry === undefined ? 1 : 0; // the number of definitions around the node
  const isDefinition = (node: SyntaxNodeRef): boolean => /^(?:Function|Class)Definition$/.test(node.name);
  const parsed = attempt(() => parsePython(code));
  if (parsed) {
    const { text, top } = parsed;
    top.cursor().iterate(
      (node) => {
        if (node.name === 'AssertStatement' || (node.name === 'CallExpression' && calleeOf(node, text) === name))
          return false;
        if (isDefinition(node)) definitions++;
        const isRead = definitions > 0 && LITERAL.test(node.name); // a literal that contains a name or a call has no value
        const value = isRead ? attempt(() => new Evaluation(text).value(node.node)) : undefined;
        if (value === undefined) return true;
        for (const own of tellingValues(value)) found.add(own);
        return false;
      },
      (node) => void (isDefinition(node) && definitions--),
    );
  }
  return found;
}

function calleeOf({ node: { firstChild } }: SyntaxNodeRef, text: string): string | undefined {
  return firstChild ? text.slice(firstChild.from, firstChild.to).split('.').at(-1) : undefined;
}

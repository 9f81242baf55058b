// The number of arguments of a function signature.
import { nameOf } from './asserts.js';
import { parts, treeOf } from './tree.js';

/**
 * The number of positional arguments of `entry` in `signature` ('def solve(nums, k=0) -> int:', possibly after
 * imports), without `self`. Undefined if the number is not fixed (defaults, stars) or the function is not found.
 */
export function arityOf(signature: string, entry: string): number | undefined {
  const source = `${signature.trimEnd().replace(/:?$/, ':')} pass`;
  let found: number | undefined;
  treeOf(source)?.iterate({
    enter: (node) => {
      if (node.name !== 'FunctionDefinition') return;
      const children = parts(node.node);
      const name = children.find((child) => child.name === 'VariableName');
      const list = children.find((child) => child.name === 'ParamList');
      if (!name || !list || source.slice(name.from, name.to) !== nameOf(entry)) return;
      const shape: string[] = [];
      for (let child = list.firstChild; child; child = child.nextSibling) shape.push(child.name);
      if (shape.includes('*') || shape.includes('**') || shape.includes('AssignOp')) return;
      const names = parts(list).filter((child) => child.name === 'VariableName');
      const self = names[0] !== undefined && source.slice(names[0].from, names[0].to) === 'self';
      found = names.length - (self ? 1 : 0);
    },
  });
  return found;
}

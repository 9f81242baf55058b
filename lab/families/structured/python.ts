// Runs the family's own programs inside this process, on Pyodide. They are trusted; programs of models go to the sandbox.
import { loadPyodide } from 'pyodide';
import type { Value } from '../../../core/schema/value.js';

const MOST_STEPS = 20_000; // of loops in one call: a mutant may never end

const HELPERS = `
import ast, json

class _Counted(ast.NodeTransformer):
    def visit_While(self, node):
        self.generic_visit(node)
        node.body.insert(0, ast.parse("_tick()").body[0])
        return node
    visit_For = visit_While

def _load(code, entry):
    left = [0]
    def _tick():
        left[0] -= 1
        if left[0] < 0:
            raise TimeoutError
    scope = {"_tick": _tick}
    tree = ast.fix_missing_locations(_Counted().visit(ast.parse(code)))
    exec(compile(tree, "program", "exec"), scope)
    def call(text):
        left[0] = ${MOST_STEPS}
        try:
            return json.dumps(scope[entry](*json.loads(text)))
        except Exception as error:
            return "raises " + type(error).__name__
    return call
`;

export interface Python {
  /** The function `entry` of a program; its result as JSON, or what it raises. */
  load(code: string, entry: string): (args: readonly Value[]) => string;
}

export async function openPython(): Promise<Python> {
  const pyodide = await loadPyodide();
  pyodide.runPython(HELPERS);
  const load = pyodide.globals.get('_load') as (code: string, entry: string) => (text: string) => string;
  return {
    load(code, entry) {
      const call = load(code, entry);
      return (args) => call(JSON.stringify(args));
    },
  };
}

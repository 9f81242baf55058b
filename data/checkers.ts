// The Python functions that judge inputs and answers of a problem: `validator(…)` and `checker(inputs, answer, expected)`.
import { z } from 'zod';
import { definitionsOf } from '../core/parse/definitions.js';
import { program } from './formats/format.js';

const functionNamed = (name: string) =>
  program.refine(
    (source) => definitionsOf(source).some((one) => one.kind === 'function' && one.name === name),
    `must define the function ${name}`,
  );

export const judgesSchema = z.object({
  validator: functionNamed('validator').optional(),
  checker: functionNamed('checker').optional(),
  generated_checker: program.optional(),
});

export const judgesOf = ({ validator, checker, generated_checker }: z.infer<typeof judgesSchema>) => ({
  validator,
  checker: checker ?? (generated_checker && checkerOfScript(generated_checker)),
});

/**
 * A checker for a script as in the Codeforces set of open-r1. It is started with the names of three files: the input, a
 * right output and the output to judge. It prints 1 if the latter is right, otherwise a smaller number.
 */
export const checkerOfScript = (script: string): string => `import contextlib, io, os, sys, tempfile

SCRIPT = ${JSON.stringify(script)}


def checker(inputs, answer, expected):
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ['checker.py']
        for name, text in ('input', inputs[0]), ('expected', expected), ('answer', answer):
            sys.argv.append(os.path.join(folder, name))
            with open(sys.argv[-1], 'w', encoding='utf-8', errors='surrogatepass') as file:
                file.write(text)
        with contextlib.redirect_stdout(said):
            try:
                exec(compile(SCRIPT, 'checker.py', 'exec'), {'__name__': '__main__'})
            except SystemExit:
                pass
    return float(said.getvalue().split()[0]) == 1
`;

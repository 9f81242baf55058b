// The program on which a test must fail: one that never answers.

/**
 * A program whose entry raises in every call. Tests cannot name the exception.
 * @param code a program that defines what else the tests may use
 */
export function silentProgram(entry: string, code = ''): string {
  const [owner, method] = entry.split('.');
  const definition = (name: string | undefined): string => `def ${name}(*args, **kwargs): raise Silence()\n`;
  const ofMethod = `class ${owner}:\n    def __init__(self, *args, **kwargs): pass\n    ${definition(method)}`;
  return `${code}\n\nclass Silence(Exception): pass\n${method === undefined ? definition(owner) : ofMethod}`;
}

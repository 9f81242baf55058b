/**
 * Returns a program whose entry raises an exception in every call. A test that passes on it tests nothing.
 * @param code a program with all other names that the tests may use
 */
export function silentProgram(entry: string, code = ''): string {
  const [owner, method] = entry.split('.');
  const definition = (name: string | undefined): string => `def ${name}(*args, **kwargs): raise Silence()\n`;
  const ofMethod = `class ${owner}:\n    def __init__(self, *args, **kwargs): pass\n    ${definition(method)}`;
  return `${code}\n\nclass Silence(Exception): pass\n${method === undefined ? definition(owner) : ofMethod}`;
}

/** Where a static report has a resource. */
export function scriptPath(resource: string): string {
  const [, run, ...rest] = resource.split('/');
  return `data/${run === undefined ? 'runs' : ['run', ...rest].join('/')}.js`;
}

// Makes Markdown tables, and replaces generated parts of Markdown pages.

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Replaces the text between the marks of a name. @throws Error if the page has no such marks */
export function between(page: string, name: string, text: string): string {
  const mark = { begin: `<!-- ${name} -->`, end: `<!-- /${name} -->` };
  const [begin, end] = [page.indexOf(mark.begin), page.indexOf(mark.end)];
  if (begin < 0 || end < begin) throw new Error(`the page has no ${mark.begin} … ${mark.end}: add these lines`);
  return `${page.slice(0, begin + mark.begin.length)}\n${text}\n${page.slice(end)}`;
}

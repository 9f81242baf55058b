// Finds figures in the text between the generated tables.
const TABLES = /<!-- ([\w-]+) -->.*?<!-- \/\1 -->/gs;
const FIGURES = /(?<!temperature )(?<![\d.]|\S-)\d+\.\d(?!\.?\d)(?: ± \d+\.\d)?/g; // no versions, no temperatures

/** Brings a figure into the form '7.7 ± 1.9', also if the text says '7.7 %\n± 1.9'. */
const figuresIn = (text: string): string[] => text.replace(/\s+/g, ' ').replaceAll(' % ±', ' ±').match(FIGURES) ?? [];

/** The figures with one decimal place, and their intervals, that are in the text of a page but in no generated table. */
export function unfounded(page: string, pages: readonly string[]): string[] {
  const tables = pages.flatMap((one) => [...one.matchAll(TABLES)].flatMap(([table]) => figuresIn(table)));
  const known = new Set(tables.flatMap((figure) => [figure, figure.split(' ')[0]!]));
  return figuresIn(page.replace(TABLES, '')).filter((figure) => !known.has(figure));
}

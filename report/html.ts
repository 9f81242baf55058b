// HTML as a type: all text that is not Html is escaped, so model output cannot become markup.

export class Html {
  constructor(readonly markup: string) {}
}

type Part = Html | string | number | undefined | null | false | readonly Part[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replace(SPECIAL, (char) => ESCAPES[char] ?? (isForbidden(char) ? '\ufffd' : char));
}

const SPECIAL = /[&<>"'\p{Cc}\p{Cs}]/gu;

/** Control characters (except tab and newline) and lone surrogates are not allowed in HTML. */
function isForbidden(char: string): boolean {
  const code = char.codePointAt(0)!;
  return (code < 0x20 && code !== 9 && code !== 10) || code === 0x7f || (code >= 0xd800 && code <= 0xdfff);
}

/** Template tag: escapes every value except Html, omits undefined, null and false, and joins lists. */
export function html(strings: TemplateStringsArray, ...values: Part[]): Html {
  return new Html(strings.map((text, i) => text + (i < values.length ? markupOf(values[i]) : '')).join(''));
}

function markupOf(part: Part): string {
  if (part === undefined || part === null || part === false) return '';
  if (part instanceof Html) return part.markup;
  if (typeof part === 'string') return escapeHtml(part);
  return typeof part === 'number' ? String(part) : part.map(markupOf).join('');
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** Text with its control and reordering characters as escapes, except line feeds and tabs. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (char) =>
    char === '\n' || char === '\t' ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`,
  );

const unit = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** JSON of the same value, with control and reordering characters as escapes. JSON itself escapes only some of them. */
export const visibleJson = (line: string): string =>
  line.replace(INVISIBLE, (char) => (char === '\n' ? char : char.replace(/[\s\S]/g, unit)));

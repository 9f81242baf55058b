/** The reason in a message of the runtime, without source files, conditions and line breaks. */
export function reasonOf(message: string): string {
  const text = message.replace(/\s+/g, ' ').trim();
  return text.replace(/^.*?(?: was false\. | : FAIL : )/, '');
}

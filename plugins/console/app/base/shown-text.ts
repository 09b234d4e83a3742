/**
 * Matches characters that could disguise a text: control characters, zero-width characters, and characters that change
 * the direction of text.
 */
// oxlint-disable-next-line no-control-regex -- the function makes these characters visible
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Returns the text with each invisible character written as `⟨U+202E⟩`, so that a reader sees it. */
export function visibleText(text: string): string {
  return text.replace(invisible, (character) => {
    const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0') ?? '';
    return `⟨U+${code}⟩`;
  });
}

/** Returns at most `length` characters of the text, followed by the number of the other characters. */
export function shortText(text: string, length = 200): string {
  if (text.length <= length) return visibleText(text);
  return `${visibleText(text.slice(0, length))}… (${formatCount(text.length - length)} more characters)`;
}

/** Returns a number with commas, such as `12,345`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

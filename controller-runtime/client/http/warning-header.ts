/** The texts of a `Warning` header (RFC 7234, 5.5): `299 - "text", 299 - "text"`. Warnings of other codes are caches' own. */
export function parseWarnings(header: string | null): readonly string[] {
  const texts: string[] = [];
  for (const match of (header ?? '').matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g)) {
    texts.push((match[1] ?? '').replaceAll(/\\(.)/g, '$1'));
  }
  return texts;
}

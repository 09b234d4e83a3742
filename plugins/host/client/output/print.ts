/** Writes to stdout, and waits for the reader, so that a long list does not fill the memory. */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** Writes a message for people to stderr, so that programs that read stdout do not get it. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/**
 * Replaces control characters, so that no text of an object controls the terminal: any user who may write an object
 * chooses its texts.
 */
export function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?');
}

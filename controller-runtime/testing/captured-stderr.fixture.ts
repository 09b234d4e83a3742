/** Returns the text that is written to stderr during the work, and prints none of it. */
export async function capturedStderr(work: () => Promise<void>): Promise<string> {
  const write = process.stderr.write.bind(process.stderr);
  let text = '';
  process.stderr.write = (chunk: string | Uint8Array): boolean => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    return true;
  };
  try {
    await work();
  } finally {
    process.stderr.write = write;
  }
  return text;
}

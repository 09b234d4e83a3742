/** The maximum size of a result, in bytes of UTF-8. */
const maxResultBytes = 64 * 1024;

/**
 * Returns the result of an effect as JSON, or undefined if the result is undefined. Throws TypeError when the result
 * cannot be recorded.
 */
export function formatResult(effect: string, result: unknown): string | undefined {
  const text = toText(effect, result);
  if (text === undefined && result !== undefined) {
    throw new TypeError(
      `once(${JSON.stringify(effect)}): the result is a ${typeof result}, which JSON cannot represent`,
    );
  }
  const bytes = Buffer.byteLength(text ?? '');
  if (bytes <= maxResultBytes) return text;
  throw new TypeError(
    `once(${JSON.stringify(effect)}): the result has ${bytes} bytes of JSON, and at most ${maxResultBytes} are recorded: ` +
      'return ids, and read the rest when it is needed',
  );
}

/** Parses the JSON of a result. The argument undefined stands for the result undefined. */
export function parseResult(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

function toText(effect: string, result: unknown): string | undefined {
  try {
    return JSON.stringify(result);
  } catch (cause) {
    throw new TypeError(`once(${JSON.stringify(effect)}): the result cannot be written as JSON`, { cause });
  }
}

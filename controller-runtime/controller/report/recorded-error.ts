import { fileURLToPath } from 'node:url';

const maxMessageLength = 4096;
const maxFrames = 10;
const maxFrameLength = 300;

/** The folder of this package. Its functions are on every stack, so frames in it are left out. */
const ownFolder: string = fileURLToPath(new URL('../../../', import.meta.url));

/** {@link ownFolder} as a file URL, because stacks have paths or URLs. */
const ownUrl: string = new URL('../../../', import.meta.url).href;

export interface RecordedError {
  readonly message: string;
  readonly stack?: string;
}

/**
 * Returns the message of an error, with those of its causes, and those frames of its stack that are in the author's
 * code, not in Node, this package or installed packages. Never throws.
 */
export function recordedError(error: unknown): RecordedError {
  try {
    const message = messageOf(error).slice(0, maxMessageLength).toWellFormed();
    const stack = error instanceof Error ? framesOf(error) : '';
    return stack === '' ? { message } : { message, stack };
  } catch {
    return { message: 'the thrown value has no text' };
  }
}

function messageOf(error: unknown): string {
  const messages: string[] = [];
  for (let each: unknown = error; messages.length < 5 && each !== undefined; each = causeOf(each)) {
    messages.push(each instanceof Error ? each.message : textOf(each));
  }
  return messages.join(': ');
}

/** Returns the text of a thrown value. Code can throw any value, even one whose text cannot be read. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

function framesOf({ stack = '' }: Error): string {
  const frames = stack
    .split('\n', 200)
    .filter((line) => /^\s+at /.test(line) && !isForeign(line))
    .slice(0, maxFrames);
  return frames.map((line) => line.trim().slice(0, maxFrameLength).toWellFormed()).join('\n');
}

function isForeign(line: string): boolean {
  return /\(?node:|\/node_modules\/|\(<anonymous>\)$/.test(line) || line.includes(ownFolder) || line.includes(ownUrl);
}

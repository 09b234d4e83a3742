import { fileURLToPath } from 'node:url';

const maxMessageLength = 4096;
const maxFrames = 10;
const maxFrameLength = 300;

/** The folder of this package. Functions of this package are on every stack, so their frames are left out. */
const ownFolder: string = fileURLToPath(new URL('../../../', import.meta.url));

/** The URL of {@link ownFolder}, because the files in a stack can be paths or URLs. */
const ownUrl: string = new URL('../../../', import.meta.url).href;

export interface RecordedError {
  readonly message: string;
  readonly stack?: string;
}

/**
 * Returns the message of an error, the messages of its causes, and the frames of its stack that are in the author's
 * code. Frames in Node.js, in this package and in installed packages are left out. Never throws.
 */
export function recordedError(error: unknown): RecordedError {
  try {
    const message = messageOf(error).slice(0, maxMessageLength).toWellFormed();
    const stack = error instanceof Error ? framesOf(error) : '';
    return stack === '' ? { message } : { message, stack };
  } catch {
    return { message: 'the thrown value cannot be converted to text' };
  }
}

function messageOf(error: unknown): string {
  const messages: string[] = [];
  for (let each: unknown = error; messages.length < 5 && each !== undefined; each = causeOf(each)) {
    messages.push(each instanceof Error ? each.message : textOf(each));
  }
  return messages.join(': ');
}

/**
 * Returns the text of a thrown value that is not an Error. Throws when the value has no JSON, such as a cycle or a
 * bigint.
 */
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

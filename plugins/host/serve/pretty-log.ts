import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { hostFolders } from '../text/host-folders.ts';

/**
 * The maximum number of objects whose last error is remembered, so that a repeated error is recognized. Beyond this
 * number, the oldest error is forgotten.
 */
const maxFolded = 1000;

const colors: Readonly<Record<string, string>> = { debug: '2', info: '32', warn: '33', error: '31' };

/**
 * Fields that are not shown as `name=value`, because they are elsewhere in the line or do not help a person at a
 * terminal.
 */
const placed = new Set([
  'level',
  'time',
  'pid',
  'hostname',
  'msg',
  'err',
  'plugin',
  'controller',
  'key',
  'reconcileID',
  'attempt',
  'nextTime',
]);

/** The control characters that clear the current line of a terminal. */
const clearLine = '\r\u001B[K';

interface PrettyLogParts {
  readonly output: { write(line: string): void };
  readonly colored: boolean;
  /** True when the output is a terminal. Then a line shows the progress of the indexes while the server starts. */
  readonly isTerminal: boolean;
  /** True when lines of the level info are shown while the server starts, too. */
  readonly verbose: boolean;
}

/**
 * Turns JSON lines of the log into readable lines. Before {@link ready} prints the banner, shows no lines of the level
 * info, unless `verbose` is true. When an object fails repeatedly with the same error, shows the first of these log
 * lines with the stack, and later only the lines of the attempts 2, 4, 8, … without the stack. The stack has only the
 * frames of plugins.
 */
export class PrettyLog {
  readonly #parts: PrettyLogParts;
  readonly #last = new Map<string, string>();
  #isStarting = true;
  #showsProgress = false;

  constructor(parts: PrettyLogParts) {
    this.#parts = parts;
  }

  write(json: string): void {
    const line: unknown = JSON.parse(json);
    if (!isJsonObject(line)) return;
    const { level, time } = line;
    if (this.#isStarting && line['msg'] === 'indexing' && this.#parts.isTerminal) return this.#showIndexing(line);
    if (this.#isStarting && level === 'info' && !this.#parts.verbose) return;
    const text = this.#text(line);
    if (text === undefined) return;
    const clock = this.#colored('2', String(time).slice(11, 19));
    const name = this.#colored(colors[String(level)] ?? '0', String(level).padEnd('error'.length));
    this.#write(`${clock} ${name} ${text}\n`);
  }

  /** Writes the banner. After this, lines of the level info are shown. */
  ready(banner: string): void {
    this.#isStarting = false;
    this.#write(banner);
  }

  /** Shows the kind, and the number of its objects indexed so far, in a line that the next line replaces. */
  #showIndexing({ kind, indexed }: JsonObject): void {
    this.#write(`indexing ${oneLine(String(kind))}: ${String(indexed)} objects so far`);
    this.#showsProgress = true;
  }

  #write(text: string): void {
    this.#parts.output.write(this.#showsProgress ? `${clearLine}${text}` : text);
    this.#showsProgress = false;
  }

  /** Returns the readable text of a line; undefined for a repeated error that is not shown. */
  #text(line: JsonObject): string | undefined {
    const { msg, err, attempt } = line;
    const subject = subjectOf(line);
    const message = isJsonObject(err) ? oneLine(String(err['message'])) : undefined;
    const said = [subject, message, oneLine(String(msg))]
      .filter((part) => part !== undefined && part !== '')
      .join(': ');
    if (typeof attempt !== 'number') return `${said}${fieldsOf(line)}${this.#framesOf(err)}`;
    const isRepeat = this.#isRepeat(subject, said);
    if (isRepeat && !Number.isInteger(Math.log2(attempt))) return undefined;
    const counted = `${said}, attempt ${attempt}${nextOf(line)}${fieldsOf(line)}`;
    return isRepeat ? counted : `${counted}${this.#framesOf(err)}`;
  }

  #isRepeat(subject: string, said: string): boolean {
    const isRepeat = this.#last.get(subject) === said;
    this.#last.delete(subject);
    this.#last.set(subject, said);
    const [oldest] = this.#last.keys();
    if (this.#last.size > maxFolded && oldest !== undefined) this.#last.delete(oldest);
    return isRepeat;
  }

  #framesOf(err: unknown): string {
    const stack = isJsonObject(err) && typeof err['stack'] === 'string' ? err['stack'] : '';
    const frames = stack.split('\n').filter((line) => /^\s+at /.test(line) && !isHosts(line));
    return frames.map((frame) => `\n${this.#colored('2', `               ${oneLine(frame)}`)}`).join('');
  }

  #colored(code: string, text: string): string {
    return this.#parts.colored ? `\u001B[${code}m${text}\u001B[0m` : text;
  }
}

/** True for a stack frame of Node, of the host, or of a package. */
function isHosts(frame: string): boolean {
  if (/\(?node:|<anonymous>|\/node_modules\//.test(frame)) return true;
  return hostFolders().some((folder) => frame.includes(`${folder}/`));
}

/** Returns `plugin/controller key`, without the parts that the line does not have. */
function subjectOf({ plugin, controller, key }: JsonObject): string {
  const place = [plugin, controller].filter((part) => typeof part === 'string').join('/');
  return [place, key].filter((part) => typeof part === 'string' && part !== '').join(' ');
}

/** Returns the wait before a failed key is reconciled again, counted from the time of the line. */
function nextOf({ time, nextTime }: JsonObject): string {
  const waitMs = Date.parse(String(nextTime)) - Date.parse(String(time));
  if (!(waitMs >= 0)) return '';
  const seconds = waitMs / 1000;
  return `, next in ${seconds < 10 ? Number(seconds.toFixed(1)) : Math.round(seconds)} s`;
}

function fieldsOf(line: JsonObject): string {
  const rest = Object.entries(line).filter(([name]) => !placed.has(name));
  const texts = rest.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return texts.length === 0 ? '' : `  ${oneLine(texts.join(' '))}`;
}

/** Replaces control characters with spaces, so that a message cannot control the terminal. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').trim();
}

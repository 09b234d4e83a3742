/**
 * An HTML comment in a page, which says how the tests use a text. The text is either the fenced code block (fence)
 * right below the comment, or hidden content inside the comment.
 */
interface Directive {
  readonly word: 'file' | 'edit' | 'sh' | 'output' | 'not run';
  /** The rest of the comment's first line after the word and its colon, such as the path of a `file` comment. */
  readonly argument: string;
  /** The lines of the comment after its first line; undefined when the comment has only one line. */
  readonly hidden: string | undefined;
  /** The line of the page where `hidden` begins. */
  readonly line: number;
}

/** A fenced code block of a page with the directive above it, or a directive with hidden content. */
export interface Fence {
  readonly directive: Directive | undefined;
  readonly language: string;
  readonly text: string;
  /** The line of the page where `text` begins. */
  readonly line: number;
}

const parts =
  /^<!-- (?<word>file|edit|sh|output|not run)\b(?<rest>[^]*?)-->$|^ *```(?<language>\S*)\n(?<text>[^]*?)^ *```$/gm;

/**
 * Returns the fences of a page, and its directives with hidden content, in the order of the page. Throws when a
 * directive has neither hidden content nor a fence right below it.
 */
export function parseFences(page: string): readonly Fence[] {
  const fences: Fence[] = [];
  let waiting: (Directive & { readonly end: number }) | undefined;
  const expectNone = (): void => {
    if (waiting !== undefined)
      throw new Error(`line ${waiting.line - 1}: there is no fence right below "${waiting.word}"`);
  };
  for (const match of page.matchAll(parts)) {
    const { word, rest = '', language = '', text = '' } = match.groups ?? {};
    const line = lineAt(page, match.index) + 1;
    if (waiting !== undefined && page.slice(waiting.end, match.index).trim() !== '') expectNone();
    if (word === undefined) {
      fences.push({ directive: waiting, language, text, line });
      waiting = undefined;
      continue;
    }
    expectNone();
    const directive = parseDirective(word as Directive['word'], rest, line);
    if (directive.hidden === undefined) waiting = { ...directive, end: match.index + match[0].length };
    else fences.push({ directive, language: '', text: directive.hidden, line });
  }
  expectNone();
  return fences;
}

function parseDirective(word: Directive['word'], rest: string, line: number): Directive {
  const [first = '', ...more] = rest.split('\n');
  const hidden = more.length === 0 ? undefined : more.join('\n');
  return { word, argument: first.replace(/^:/, '').trim(), hidden, line };
}

function lineAt(page: string, index: number): number {
  return page.slice(0, index).split('\n').length;
}
